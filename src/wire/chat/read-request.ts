import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Effort, effortOf } from '../../model/effort.ts'
import { problem, type Refused, refused } from '../../model/problem.ts'
import type { ChatRequest, InputSize, OtherInput, TurnRequest } from '../../model/turn.ts'
import { checkNames } from '../fields/check-names.ts'
import { checkModel, checkValues } from '../fields/check-values.ts'
import { demandsOf } from '../fields/demands-of.ts'
import { optionalNames } from '../fields/field-rule.ts'
import { inputBytes, toolsInPrompt } from '../fields/input-size.ts'
import { readNested } from '../fields/read-nested.ts'
import type { ParsedBody, ReadRequestOutcome } from '../request-reader.ts'
import { checkMessages } from './check-messages.ts'
import { CHAT_FIELDS, CONTROL_FIELDS, NESTED_FIELDS } from './fields.ts'
import { mendMessages } from './mend-messages.ts'
import { ownTools } from './own-tools.ts'

/** Reads what admission decides on, and checks that much; everything else stays bytes for whoever reads it later. */
export function readRequest(body: ParsedBody): ReadRequestOutcome<ChatRequest> {
  const { value } = body
  const found = checkNames(body.members, CONTROL_FIELDS) ?? checkModel(value.model) ?? checkValues(value, CHAT_FIELDS)
  if (found) return refused(found)
  const others: OtherInput[] = []
  const wrong = checkMessages(value.messages, others)
  if (wrong) return refused(wrong)
  const tools = ownTools(body)
  if (tools.kind === 'refused') return tools
  const nested = readNested(body, NESTED_FIELDS)
  if (nested.kind === 'refused') return nested
  const asked = readEffort(value)
  if (asked.kind === 'refused') return asked
  const { effort, effortParam } = asked
  const mended = mendMessages(body)
  const choices = (value.n as number | null | undefined) ?? 1
  const rewritten = mended ? new Map([...tools.rewritten, ['messages', mended] as const]) : new Map(tools.rewritten)
  return {
    kind: 'read',
    request: {
      protocol: 'chat',
      body: { bytes: body.bytes, members: body.members },
      model: value.model as string,
      effort,
      effortParam,
      delivery: value.stream === true ? 'stream' : 'json',
      wantsUsage: isObject(value.stream_options) && value.stream_options.include_usage === true,
      functionForm: countOf(value.functions) > 0,
      ...readOutputCap(value),
      choices,
      inputField: 'messages',
      demands: demandsOf({ choices, stop: value.stop, toolChoice: value.tool_choice, format: value.response_format }),
      boundTo: undefined,
      compacts: undefined,
      inputSize: sizeOf(body, rewritten),
      otherInputs: others,
      ignoredTools: tools.ignored,
      toolNames: countOf(value.tools) + countOf(value.functions) + callsIn(value.messages),
      toolKinds: hasCustom(value) ? ['custom'] : [],
      rewritten,
      optionalFields: [...optionalNames(body.members, CHAT_FIELDS), ...nested.ignored],
    },
  }
}

/** `max_completion_tokens` is the newer name and wins; each client sends the one it knows. */
function readOutputCap(value: ParsedBody['value']): Pick<TurnRequest, 'outputCap' | 'outputCapParam'> {
  const newer = value.max_completion_tokens ?? undefined
  const older = value.max_tokens ?? undefined
  return newer === undefined && older !== undefined
    ? { outputCap: older as number, outputCapParam: 'max_tokens' }
    : { outputCap: newer as number | undefined, outputCapParam: 'max_completion_tokens' }
}

const NO_EFFORT = { kind: 'read', effort: undefined, effortParam: 'reasoning_effort' } as const

/** The effort may come in two dialects; together they must agree, as a suffix and a field must. */
function readEffort(
  value: ParsedBody['value'],
): { kind: 'read'; effort: Effort | undefined; effortParam: string } | Refused {
  const field = value.reasoning_effort ?? undefined
  const nested = (isObject(value.reasoning) ? value.reasoning.effort : undefined) ?? undefined
  if (field === undefined && nested === undefined) return NO_EFFORT
  const [first, second] = [field, nested].map((word) => (word === undefined ? undefined : effortOf(String(word))))
  if (first !== undefined && second !== undefined && first !== second) {
    const message = `\`reasoning_effort\` is "${first}" and \`reasoning.effort\` is "${second}". Send one of them, or make them agree.`
    return refused(problem('reasoning_effort_conflict', message, { param: 'reasoning.effort' }))
  }
  if (first === undefined && second !== undefined)
    return { kind: 'read', effort: second, effortParam: 'reasoning.effort' }
  return { kind: 'read', effort: first, effortParam: 'reasoning_effort' }
}

const INPUT_FIELDS = new Set(['messages', 'tools', 'functions', 'response_format'])

function sizeOf(body: ParsedBody, rewritten: TurnRequest['rewritten']): InputSize {
  const { messages, tools, functions, response_format: format } = body.value
  const declared = countOf(tools) + countOf(functions)
  const hasCalls = declared === 0 && Array.isArray(messages) && messages.some(hasToolCalls)
  return {
    bodyBytes: body.bytes.length,
    inputBytes: inputBytes(body, INPUT_FIELDS, rewritten),
    messages: countOf(messages),
    tools: toolsInPrompt({ declared, format, hasCalls }),
  }
}

const countOf = (field: unknown): number => (Array.isArray(field) ? field.length : 0)

/** Of a message that was checked. */
const callsIn = (messages: unknown): number =>
  (messages as readonly Fields[]).reduce(
    (sum, { tool_calls: calls, function_call: call }) => sum + countOf(calls) + (isObject(call) ? 1 : 0),
    0,
  )

/** Among the tools, in `tool_choice`, or in a past call. */
const hasCustom = ({ tools, tool_choice: choice, messages }: ParsedBody['value']): boolean =>
  (Array.isArray(tools) && tools.some(isCustom)) ||
  isCustom(choice) ||
  (messages as readonly Fields[]).some(({ tool_calls: calls }) => Array.isArray(calls) && calls.some(isCustom))

const isCustom = (tool: unknown): boolean => isObject(tool) && (tool.type === 'custom' || isObject(tool.custom))

const hasToolCalls = (message: unknown): boolean =>
  isObject(message) && (Array.isArray(message.tool_calls) || isObject(message.function_call))
