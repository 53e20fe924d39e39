package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/testbed"
)

// bareAPI does the least that a test can do: create a workspace, delete it at once when
// its agents are ready, and see the delete through, driven by Coder's stream.
func (b *bench) bareAPI(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := b.bed.Client(b.tester.Token)
	workspace, err := client.CreateUserWorkspace(ctx, b.tester.ID.String(), codersdk.CreateWorkspaceRequest{
		TemplateVersionID: b.template.VersionID, Name: testbed.UniqueName("bare"),
	})
	if err != nil {
		return err
	}
	stream, err := client.WatchWorkspace(ctx, workspace.ID)
	if err != nil {
		return err
	}
	deleting := false
	for seen := range stream {
		latest := seen.LatestBuild
		switch {
		case latest.Transition == codersdk.WorkspaceTransitionDelete && latest.Job.Status == codersdk.ProvisionerJobSucceeded:
			return nil
		case !deleting && ready(latest):
			if _, err := client.CreateWorkspaceBuild(ctx, workspace.ID, codersdk.CreateWorkspaceBuildRequest{
				Transition: codersdk.WorkspaceTransitionDelete,
			}); err != nil {
				return err
			}
			deleting = true
		}
	}
	return errors.Join(ctx.Err(), errors.New("the stream ended before the workspace was deleted"))
}

// ready reports whether every agent of the build is connected and ready.
func ready(build codersdk.WorkspaceBuild) bool {
	agents := 0
	for _, resource := range build.Resources {
		for _, agent := range resource.Agents {
			agents++
			if agent.Status != codersdk.WorkspaceAgentConnected || agent.LifecycleState != codersdk.WorkspaceAgentLifecycleReady {
				return false
			}
		}
	}
	return agents > 0 && build.Job.Status == codersdk.ProvisionerJobSucceeded
}

// names are the parts of a path that differ from run to run.
var names = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|ktt-[0-9a-f]{28}|passing-[a-z0-9]+`)

// countRequests lists the requests of one passing test on their way to Coder.
func (b *bench) countRequests(ctx context.Context, token string, more ...string) ([]string, error) {
	target, err := url.Parse(b.bed.URL)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var requests []string
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1 // events pass at once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.Method+" "+names.ReplaceAllString(strings.TrimPrefix(r.URL.Path, "/api/v2"), "*"))
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	if err := b.assay(ctx, server.URL, token, more...); err != nil {
		return nil, err
	}
	return requests, nil
}
