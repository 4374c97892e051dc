import { type Fields, isObject } from '../../src/lib/types.ts'
import type { MessagesModes } from './messages-request.ts'
import { judgeHeldSchema } from './messages-schema.ts'
import { demand, demandKnown } from './strict-request.ts'

const EFFORTS = new Set(['low', 'medium', 'high', 'xhigh', 'max'])
const BUDGET_MIN = 1024
const USER_LENGTH_MAX = 256

/** How words are chosen, how the model thinks, and in what form it answers. */
export function judgeSettings(body: Fields, modes: MessagesModes): void {
  judgeSampling(body, modes)
  judgeThinking(body, modes)
  judgeOutput(body, modes)
  const { stop_sequences: stops, metadata } = body
  const isWell = (stop: unknown): boolean => typeof stop === 'string' && stop.trim() !== ''
  const areWell = stops === undefined || (Array.isArray(stops) && stops.length > 0 && stops.every(isWell))
  demand(areWell, 'each stop sequence must contain non-whitespace', 'stop_sequences')
  if (metadata === undefined) return
  demand(isObject(metadata), 'should be an object', 'metadata')
  demandKnown(metadata, new Set(['user_id']), 'metadata.')
  const id = metadata.user_id
  demand(typeof id === 'string' && id.length <= USER_LENGTH_MAX, 'user_id: too long', 'metadata')
}

const isShare = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1

function judgeSampling({ temperature, top_p, top_k }: Fields, { sampling }: MessagesModes): void {
  const isAbsent = temperature === undefined && top_p === undefined && top_k === undefined
  demand(sampling || isAbsent, '`temperature`, `top_p` and `top_k` are not taken by this model', 'temperature')
  demand(temperature === undefined || isShare(temperature), 'range: 0..1', 'temperature')
  demand(top_p === undefined || isShare(top_p), 'range: 0..1', 'top_p')
  demand(temperature === undefined || top_p === undefined, '`temperature` and `top_p` cannot both be given', 'top_p')
}

function judgeThinking({ thinking, max_tokens, tool_choice, temperature, top_p }: Fields, modes: MessagesModes): void {
  if (thinking === undefined) return
  demand(isObject(thinking), 'should be an object', 'thinking')
  const { type, budget_tokens } = thinking
  const wanted = modes.thinking === 'adaptive' ? 'adaptive' : 'enabled'
  demandKnown(thinking, new Set(['type', ...(KNOWN[String(type)] ?? []), ...(wanted === type ? SHOWN[wanted] : [])]))
  if (type === 'disabled' || type === 'between_tools') return
  demand(type === wanted, `type '${type}' is not supported`, 'thinking')
  demand(temperature === undefined || temperature === 1, 'may only be 1 when thinking', 'temperature')
  demand(top_p === undefined || Number(top_p) >= 0.95, 'must be at least 0.95 when thinking', 'top_p')
  if (type === 'adaptive') return
  demand(Number.isInteger(budget_tokens) && Number(budget_tokens) >= BUDGET_MIN, 'at least 1024', 'budget_tokens')
  demand(Number(budget_tokens) < Number(max_tokens), '`max_tokens` must be greater than the budget', 'budget_tokens')
  const isForced = isObject(tool_choice) && (tool_choice.type === 'any' || tool_choice.type === 'tool')
  demand(!isForced, 'thinking may not be enabled when tool_choice forces tool use', 'thinking')
}

const KNOWN: Readonly<Record<string, readonly string[]>> = { enabled: ['budget_tokens'] }
/** Servers of others do not know how to show it. */
const SHOWN = { adaptive: ['display'], enabled: [] } as const

function judgeOutput({ output_config, thinking }: Fields, modes: MessagesModes): void {
  if (output_config === undefined) return
  demand(isObject(output_config) && modes.thinking === 'adaptive', 'extra inputs are not permitted', 'output_config')
  demandKnown(output_config, new Set(['effort', 'format']), 'output_config.')
  const { effort, format } = output_config
  demand(effort === undefined || EFFORTS.has(String(effort)), `effort '${effort}' is unknown`, 'output_config')
  const isOff = isObject(thinking) && thinking.type === 'disabled'
  demand(!isOff || (effort !== 'xhigh' && effort !== 'max'), 'thinking cannot be disabled at this effort', 'thinking')
  if (format === undefined) return
  demand(isObject(format) && format.type === 'json_schema' && isObject(format.schema), 'schema required', 'format')
  demandKnown(format, new Set(['type', 'schema']), 'output_config.format.')
  judgeHeldSchema(format.schema, 'output_config.format.schema')
}
