import type { Catalog, Model } from '../../catalog/catalog.ts'
import { resolveModel } from '../../catalog/resolve-model.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput, TurnRequest } from '../../model/turn.ts'
import type { ConversationNames, StickyLanes } from '../../routing/sticky-lanes.ts'
import type { CacheSaltOf } from '../../seals/cache-salts.ts'
import type { CallSealMemory } from '../lane/call-seal-memory.ts'
import type { AskedTurn, Turn } from '../turn.ts'
import { ableLanes } from './able-lanes.ts'
import { contextProblem } from './context-problem.ts'
import { conversationNames } from './conversation-names.ts'
import { type AdmissionDeps, planAdmission } from './plan-admission.ts'
import { sentPromptOf } from './sent-prompt.ts'
import { wholeInput } from './whole-input.ts'

export interface PlanDeps extends AdmissionDeps {
  readonly catalog: Catalog
  readonly callSeals: CallSealMemory
  readonly cacheSaltOf: CacheSaltOf
  readonly sticky: StickyLanes
}

export type PlannedTurn =
  | { readonly kind: 'planned'; readonly turn: Turn }
  | { readonly kind: 'refused'; readonly problem: Problem; readonly model?: Model }

const NO_NAMES: ConversationNames = { findBy: [], rememberAs: [] }

/** Finds the model of a request, and with it catalogue, price, limits and cap of the moment: a turn keeps what it began with. */
export async function planTurn(deps: PlanDeps, asked: AskedTurn): Promise<PlannedTurn> {
  const { caller, request } = asked
  const resolved = resolveModel(deps.catalog, caller, request)
  if (resolved.kind === 'refused') return resolved
  const { entry, effort, price } = resolved
  const { model } = entry
  const unsuitable = checkInputs(model, request) ?? contextProblem(model, request)
  if (unsuitable) return { kind: 'refused', problem: unsuitable, model }
  const lanes = ableLanes(model, request)
  if ('code' in lanes) return { kind: 'refused', problem: lanes, model }

  const callSeals = deps.callSeals.of(caller.account)
  const input = await wholeInput(request, lanes, callSeals)
  const prompt = sentPromptOf(caller, request, model)
  const { admitRequest, inputBound } = planAdmission(deps, { ...asked, input, prompt, lanes }, model, price)
  // With one lane there is nothing to stay on.
  const names = lanes.length > 1 ? conversationNames(caller, request, model) : NO_NAMES
  const turn: Turn = {
    ...asked,
    ...{ entry, effort, price, lanes, prompt, admitRequest, inputBound, callSeals },
    ...{ cacheSalt: deps.cacheSaltOf(caller.accountId), names, cameFrom: deps.sticky.find(names) },
  }
  return { kind: 'planned', turn }
}

const NAMED = { image: 'an image', audio: 'audio', file: 'a file' } as const satisfies Record<
  OtherInput['kind'],
  string
>

/** What only the chosen model can tell about a request: which inputs it takes, and how many choices. */
function checkInputs(model: Model, request: TurnRequest): Problem | undefined {
  const other = request.otherInputs.find((input) => !model.inputs.includes(input.kind))
  if (other) {
    const message = `\`${other.param}\` is ${NAMED[other.kind]}, and \`${request.model}\` takes ${model.inputs.join(', ')} only. Leave the part out, or choose a model that takes it.`
    return problem('unsupported_content', message, { param: other.param })
  }
  if (request.choices > model.choicesMax) {
    const message = `\`n\` is ${request.choices}; \`${request.model}\` gives at most ${model.choicesMax} choice${model.choicesMax === 1 ? '' : 's'} a request.`
    return problem('unsupported_value', message, { param: 'n' })
  }
  return undefined
}
