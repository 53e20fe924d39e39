-- Healthy is a version that passed, Degraded one that failed. Whatever is new, stale or
-- on its way out proves nothing yet.
local hs = { status = "Progressing", message = "waiting for the operator" }

if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "the test is being deleted"
  return hs
end

local status = obj.status
if status == nil or status.phase == nil or status.observedGeneration == nil then
  return hs
end
if status.observedGeneration ~= obj.metadata.generation then
  return hs
end

hs.message = status.phase
if status.reason ~= nil then
  hs.message = status.reason
end
if status.message ~= nil then
  hs.message = hs.message .. ": " .. status.message
end
if status.phase == "Succeeded" then
  hs.status = "Healthy"
elseif status.phase == "Failed" then
  hs.status = "Degraded"
end
return hs
