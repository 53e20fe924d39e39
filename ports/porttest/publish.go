package porttest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Folders are what the versions of the suite are made of: names and contents of files.
type Folders struct {
	// Good imports. Broken prints BrokenLine in its import, which then fails. Variable
	// needs a value for the Terraform variable VariableName.
	Good, Broken, Variable map[string]string
}

// What the folders say.
const (
	// BrokenLine is in the log of an import of Folders.Broken.
	BrokenLine = "assay: the import gives up"
	// VariableName is the variable without a default of Folders.Variable.
	VariableName = "image"
)

// TemplatePublisher runs the suite of publishing, one row after the other. Every
// account's CodeRunner has to be a ports.TemplatePublisher too.
func TemplatePublisher(t *testing.T, deployment func(t *testing.T) Deployment, folders Folders) {
	uploads := map[uploaded]uuid.UUID{}
	for _, row := range []struct {
		name, says string
		show       func(t *testing.T, p publishing)
	}{
		{"rights", "authcheck tells who may make versions of a template and who may promote them", publishRights},
		{"upload", "the same content of the same user has the same ID", publishUpload},
		{"create", "a version is made by its user from its file, inactive, and is imported with a log", publishCreate},
		{"taken names", "a name is unique within its template", publishTakenName},
		{"bad names", "a name has rules", publishBadName},
		{"unknown file or template", "both are not found", publishUnknown},
		{"failed import", "the job says why, the log has what was printed, and the version cannot be promoted", publishBroken},
		{"variables", "a variable without a value fails the import, unless the active version has one", publishVariables},
		{"cancel", "a pending import ends at once; one that has ended is left alone", publishCancel},
		{"promote", "the last promotion wins, and promoting the active version changes nothing", publishPromote},
		{"promote what cannot be", "archived versions and those of other templates are refused", publishPromoteRefused},
		{"member", "a plain member may not publish: Coder answers 500, which is no proof, and nothing is made", publishByMember},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the fact: %s", row.says)
				}
			})
			s := newStage(t, deployment(t))
			row.show(t, publishing{
				stage: s, folders: folders, subject: s.Template(t, NoAgents), admin: publisherOf(t, s.admin), uploads: uploads,
			})
		})
	}
}

// publishing is what a row of the suite works with.
type publishing struct {
	stage
	folders Folders
	subject Subject
	admin   ports.TemplatePublisher
	// uploads are what is in a deployment: Coder takes twelve files a minute.
	uploads map[uploaded]uuid.UUID
}

type uploaded struct {
	to   Deployment
	what string
}

func publisherOf(t *testing.T, account Account) ports.TemplatePublisher {
	t.Helper()
	publisher, ok := account.Runner.(ports.TemplatePublisher)
	if !ok {
		t.Fatalf("%T is no ports.TemplatePublisher", account.Runner)
	}
	return publisher
}

// archive is a tar of the files with a file more, so that it is new in the deployment.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	files = maps.Clone(files)
	files["README.md"] = uuid.NewString()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fine(t, "write the archive", w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := w.Write([]byte(files[name]))
		fine(t, "write the archive", err)
	}
	fine(t, "write the archive", w.Close())
	return buffer.Bytes()
}

func (p publishing) upload(t *testing.T, files map[string]string) uuid.UUID {
	t.Helper()
	key := uploaded{p.Deployment, fmt.Sprint(files)}
	if file, ok := p.uploads[key]; ok {
		return file
	}
	file, err := p.admin.UploadArchive(t.Context(), archive(t, files))
	fine(t, "upload", err)
	p.uploads[key] = file
	return file
}

// asked describes a new version with a new name.
func (p publishing) asked(file uuid.UUID) core.NewVersion {
	return core.NewVersion{
		OrganizationID: p.subject.OrganizationID, TemplateID: p.subject.TemplateID, FileID: file,
		Name: "v-" + uuid.NewString()[:8], Message: "why there is this version",
	}
}

// imported makes a version and waits for its import.
func (p publishing) imported(t *testing.T, asked core.NewVersion) core.PublishedVersion {
	t.Helper()
	version, err := p.admin.CreateVersion(t.Context(), asked)
	fine(t, "create version", err)
	p.Settle(t, "the import to end", func() bool {
		version, err = p.admin.PublishedVersion(t.Context(), version.ID)
		fine(t, "read version", err)
		return version.Done()
	})
	return version
}

func (p publishing) active(t *testing.T) uuid.UUID {
	t.Helper()
	template, err := p.stage.admin.Runner.Template(t.Context(), p.subject.OrganizationID, p.subject.TemplateName)
	fine(t, "read template", err)
	return template.ActiveVersionID
}

func publishRights(t *testing.T, p publishing) {
	all := core.TemplateRights{Push: true, Promote: true}
	for _, row := range []struct {
		why     string
		account Account
		want    core.TemplateRights
	}{
		{"a site owner may", p.stage.admin, all},
		{"a template administrator may", p.NewUser(t, UserSpec{Status: "active", SiteRoles: []string{"template-admin"}}), all},
		{"a plain member may not", p.member(t), core.TemplateRights{}},
	} {
		rights, err := publisherOf(t, row.account).TemplateRights(t.Context(), p.subject.TemplateID)
		fine(t, row.why, err)
		equal(t, row.why, rights, row.want)
	}
	rights, err := p.admin.TemplateRights(t.Context(), uuid.New())
	fine(t, "rights on a template that is not there", err)
	equal(t, "rights on a template that is not there", rights, core.TemplateRights{})
}

func publishUpload(t *testing.T, p publishing) {
	content := archive(t, p.folders.Good)
	first, err := p.admin.UploadArchive(t.Context(), content)
	fine(t, "upload", err)
	second, err := p.admin.UploadArchive(t.Context(), content)
	fine(t, "upload again", err)
	equal(t, "the ID of the same content", second, first)
	other, err := p.admin.UploadArchive(t.Context(), archive(t, p.folders.Good))
	fine(t, "upload something else", err)
	if other == first {
		t.Error("other content has the same ID")
	}
}

func publishCreate(t *testing.T, p publishing) {
	file, before := p.upload(t, p.folders.Good), p.active(t)
	asked := p.asked(file)
	made, err := p.admin.CreateVersion(t.Context(), asked)
	fine(t, "create version", err)
	if made.Done() {
		t.Errorf("the import of a new version is %s", made.Import)
	}
	if made.Provisioners < 1 {
		t.Errorf("%d provisioners can take the import", made.Provisioners)
	}
	equal(t, "name", made.Name, asked.Name)
	equal(t, "message", made.Message, asked.Message)
	equal(t, "creator", made.CreatedBy, p.stage.admin.User.ID)
	equal(t, "file", made.FileID, file)
	if made.CreatedAt.IsZero() {
		t.Error("the version is not dated")
	}
	found, err := p.stage.admin.Runner.VersionByName(t.Context(), p.subject.TemplateID, asked.Name)
	fine(t, "find version", err)
	equal(t, "the found version's ID", found.ID, made.ID)
	p.Settle(t, "the import to end", func() bool {
		made, err = p.admin.PublishedVersion(t.Context(), made.ID)
		fine(t, "read version", err)
		return made.Done()
	})
	equal(t, "import", made.Import, core.JobSucceeded)
	equal(t, "the active version", p.active(t), before)

	log, err := p.admin.ImportLog(t.Context(), made.ID, 0)
	fine(t, "read import log", err)
	if len(log) < 2 || !slices.IsSortedFunc(log, func(a, b core.LogLine) int { return int(a.ID - b.ID) }) {
		t.Fatalf("the log has %d lines, or not in the order of their IDs", len(log))
	}
	rest, err := p.admin.ImportLog(t.Context(), made.ID, log[0].ID)
	fine(t, "read the log's rest", err)
	equal(t, "lines after the first", len(rest), len(log)-1)
	rest, err = p.admin.ImportLog(t.Context(), made.ID, log[len(log)-1].ID)
	fine(t, "read the log's end", err)
	equal(t, "lines after the last", len(rest), 0)
}

func publishTakenName(t *testing.T, p publishing) {
	asked := p.asked(p.upload(t, p.folders.Good))
	_, err := p.admin.CreateVersion(t.Context(), asked)
	fine(t, "create version", err)
	_, err = p.admin.CreateVersion(t.Context(), asked)
	refused(t, "the same again", err, core.FailureConflict)
	asked.FileID = p.upload(t, p.folders.Broken)
	_, err = p.admin.CreateVersion(t.Context(), asked)
	refused(t, "the same name of another file", err, core.FailureConflict)
}

func publishBadName(t *testing.T, p publishing) {
	asked := p.asked(p.upload(t, p.folders.Good))
	for _, name := range []string{"a b", "-a", "a-", "a--b", "a/b", strings.Repeat("a", 65)} {
		asked.Name = name
		_, err := p.admin.CreateVersion(t.Context(), asked)
		refused(t, "the name "+name, err, core.FailureRejected)
	}
	asked.Name = "a.b_c-" + uuid.NewString()[:8]
	_, err := p.admin.CreateVersion(t.Context(), asked)
	fine(t, "the name "+asked.Name, err)
}

func publishUnknown(t *testing.T, p publishing) {
	_, err := p.admin.CreateVersion(t.Context(), p.asked(uuid.New()))
	refused(t, "an unknown file", err, core.FailureNotFound)
	asked := p.asked(p.upload(t, p.folders.Good))
	asked.TemplateID = uuid.New()
	_, err = p.admin.CreateVersion(t.Context(), asked)
	refused(t, "an unknown template", err, core.FailureNotFound)
	_, err = p.admin.PublishedVersion(t.Context(), uuid.New())
	refused(t, "read an unknown version", err, core.FailureNotFound)
	_, err = p.admin.ImportLog(t.Context(), uuid.New(), 0)
	refused(t, "the log of an unknown version", err, core.FailureNotFound)
}

func publishBroken(t *testing.T, p publishing) {
	version := p.imported(t, p.asked(p.upload(t, p.folders.Broken)))
	equal(t, "import", version.Import, core.JobFailed)
	if version.ImportError == "" {
		t.Error("the job does not say why it failed")
	}
	log, err := p.admin.ImportLog(t.Context(), version.ID, 0)
	fine(t, "read import log", err)
	if !slices.ContainsFunc(log, func(line core.LogLine) bool { return strings.Contains(line.Text, BrokenLine) }) {
		t.Errorf("%q is not in the log", BrokenLine)
	}
	refused(t, "promote it", p.admin.Promote(t.Context(), p.subject.TemplateID, version.ID), core.FailureForbidden)
}

func publishVariables(t *testing.T, p publishing) {
	asked := p.asked(p.upload(t, p.folders.Variable))
	equal(t, "import without a value", p.imported(t, asked).Import, core.JobFailed)
	asked.Name += "-2"
	asked.Variables = []core.Variable{{Name: VariableName, Value: core.NewSecret("debian")}}
	version := p.imported(t, asked)
	equal(t, "import with a value", version.Import, core.JobSucceeded)
	asked.Name, asked.Variables = asked.Name+"-3", nil
	fine(t, "promote", p.admin.Promote(t.Context(), p.subject.TemplateID, version.ID))
	equal(t, "import without a value after one with", p.imported(t, asked).Import, core.JobSucceeded)
}

func publishCancel(t *testing.T, p publishing) {
	asked := p.asked(p.upload(t, p.folders.Good))
	asked.Tags = map[string]string{"pool": PoolNobodyServes}
	version, err := p.admin.CreateVersion(t.Context(), asked)
	fine(t, "create version", err)
	equal(t, "provisioners", version.Provisioners, 0)
	if !slices.Contains(version.Tags, "pool="+PoolNobodyServes) {
		t.Errorf("the import wants %v", version.Tags)
	}
	fine(t, "cancel", p.admin.CancelImport(t.Context(), version.ID))
	version, err = p.admin.PublishedVersion(t.Context(), version.ID)
	fine(t, "read version", err)
	equal(t, "import", version.Import, core.JobCanceled)
	refused(t, "cancel again", p.admin.CancelImport(t.Context(), version.ID), core.FailureRejected)
}

func publishPromote(t *testing.T, p publishing) {
	asked := p.asked(p.upload(t, p.folders.Good))
	first := p.imported(t, asked)
	asked.Name += "-2"
	second := p.imported(t, asked)
	for _, version := range []core.PublishedVersion{first, second, second, first} {
		fine(t, "promote", p.admin.Promote(t.Context(), p.subject.TemplateID, version.ID))
		equal(t, "the active version", p.active(t), version.ID)
	}
}

func publishPromoteRefused(t *testing.T, p publishing) {
	archived, before := p.Template(t, Archived), p.active(t)
	refused(t, "an archived version", p.admin.Promote(t.Context(), archived.TemplateID, archived.VersionID), core.FailureRejected)
	refused(t, "another template's", p.admin.Promote(t.Context(), p.subject.TemplateID, archived.VersionID), core.FailureRejected)
	refused(t, "an unknown version", p.admin.Promote(t.Context(), p.subject.TemplateID, uuid.New()), core.FailureNotFound)
	refused(t, "an unknown template", p.admin.Promote(t.Context(), uuid.New(), p.subject.VersionID), core.FailureNotFound)
	equal(t, "the active version", p.active(t), before)
}

func publishByMember(t *testing.T, p publishing) {
	version, before := p.imported(t, p.asked(p.upload(t, p.folders.Good))), p.active(t)
	member := publisherOf(t, p.member(t))
	file, err := member.UploadArchive(t.Context(), archive(t, p.folders.Good))
	fine(t, "upload", err)
	asked := p.asked(file)
	_, err = member.CreateVersion(t.Context(), asked)
	refused(t, "create version", err, core.FailureUncertain)
	_, err = p.stage.admin.Runner.VersionByName(t.Context(), p.subject.TemplateID, asked.Name)
	refused(t, "find what was not made", err, core.FailureNotFound)
	refused(t, "promote", member.Promote(t.Context(), p.subject.TemplateID, version.ID), core.FailureUncertain)
	equal(t, "the active version", p.active(t), before)
	asked = p.asked(p.upload(t, p.folders.Good))
	asked.Tags = map[string]string{"pool": PoolNobodyServes}
	pending, err := p.admin.CreateVersion(t.Context(), asked)
	fine(t, "create version", err)
	refused(t, "cancel", member.CancelImport(t.Context(), pending.ID), core.FailureUncertain)
	fine(t, "cancel by the admin", p.admin.CancelImport(t.Context(), pending.ID))
}
