-- Healthy is a Coder that answers and lets the operator in: one that tests can run
-- against. Degraded is one that waits for a person.
local hs = { status = "Progressing", message = "waiting for the operator" }

if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "the control plane is being deleted"
  return hs
end

local status = obj.status
if status == nil or status.phase == nil or status.observedGeneration == nil then
  return hs
end
if status.observedGeneration ~= obj.metadata.generation then
  return hs
end

local conditions = {}
if status.conditions ~= nil then
  for _, condition in ipairs(status.conditions) do
    conditions[condition.type] = condition
  end
end

local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local function say(name)
  local condition = conditions[name]
  if condition == nil then
    return
  end
  hs.message = condition.reason
  if condition.message ~= nil and condition.message ~= "" then
    hs.message = hs.message .. ": " .. condition.message
  end
end

if is_true("Stalled") then
  hs.status = "Degraded"
  say("Stalled")
elseif is_true("Reconciling") then
  say("Reconciling")
elseif status.phase ~= "Ready" then
  hs.message = "waiting for Coder"
  say("Available")
elseif not is_true("OperatorAccess") then
  hs.message = "waiting for the operator's access to Coder"
  say("OperatorAccess")
else
  hs.status = "Healthy"
  hs.message = "Coder answers, and the operator's token works"
end
return hs
