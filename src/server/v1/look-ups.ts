import { creditsForTools, type GaugeServices, keyForTools, keyInfoForTools } from '../../admin/gauges.ts'
import { readRunTree } from '../../admin/runs.ts'
import { describeForCodex, describeModel } from '../../catalog/describe-model.ts'
import { resolveModel, visibleModels } from '../../catalog/resolve-model.ts'
import type { Caller } from '../../model/caller.ts'
import { isRequestId } from '../../model/ids.ts'
import { problem } from '../../model/problem.ts'
import { isRunId } from '../../model/run.ts'
import { readQuery } from '../paths.ts'
import type { RequestContext } from '../request-context.ts'
import { sendJson, sendProblem } from '../respond.ts'

/** `GET /v1/models`: what this key may call now. Codex sends its version and reads `models`; other clients do not get that. */
export function listModels(context: RequestContext, caller: Caller): void {
  const visible = visibleModels(context.edge.rules.current.catalog, caller)
  const isCodex = readQuery(context.request)('client_version') !== undefined
  sendJson(context, 200, {
    object: 'list',
    data: visible.map(describeModel),
    ...(isCodex ? { models: describeForCodex(visible) } : {}),
  })
}

/** `GET /v1/models/{id}`. */
export function getModel(context: RequestContext, caller: Caller, id: string): void {
  const found = resolveModel(context.edge.rules.current.catalog, caller, { model: id })
  if (found.kind === 'refused') sendProblem(context, found.problem)
  else sendJson(context, 200, describeModel(found.entry))
}

/** `GET /v1/key`: what the key is, and what is left of its limits and allowances. */
export const describeKey = answerWith(keyForTools)

/** `GET /v1/credits`: what is left, as OpenRouter says it. */
export const getCredits = answerWith(creditsForTools)

/** `GET /key/info`: what is left, as LiteLLM says it. */
export const getKeyInfo = answerWith(keyInfoForTools)

function answerWith(describe: (services: GaugeServices, caller: Caller) => Promise<object>) {
  return async (context: RequestContext, caller: Caller): Promise<void> => {
    const { ledger, rules, admin } = context.edge
    const { catalog, limits } = rules.current
    const { content, usage, clock } = admin
    sendJson(
      context,
      200,
      await describe({ ledger, catalog: () => catalog, limits: () => limits, content, usage, clock }, caller),
    )
  }
}

/** `GET /v1/requests/{id}`: what a request of this account cost, and why. */
export async function getRequest(context: RequestContext, caller: Caller, id: string): Promise<void> {
  const receipt = isRequestId(id) ? await context.edge.findReceipt(caller, id) : undefined
  if (receipt) return sendJson(context, 200, receipt)
  const message = 'No request of this account has that id. The id is in the x-request-id header of an answer.'
  sendProblem(context, problem('request_not_found', message))
}

/** `GET /v1/runs/{id}`: what a run has used, what is left of its budget, and the runs inside it. */
export async function getRun(context: RequestContext, caller: Caller, id: string): Promise<void> {
  const run = isRunId(id) ? await readRunTree(context.edge.admin, caller, id) : undefined
  if (run) return sendJson(context, 200, run)
  const message = 'No run of this account has that id. The first request with it in x-millrace-run begins a run.'
  sendProblem(context, problem('run_not_found', message))
}
