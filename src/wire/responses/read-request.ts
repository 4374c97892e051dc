import { type Fields, isObject } from '../../lib/is-object.ts'
import { effortOf } from '../../model/effort.ts'
import { type Problem, refused } from '../../model/problem.ts'
import type { InputSize, OtherInput, ResponsesRequest, TurnRequest } from '../../model/turn.ts'
import { checkNames } from '../fields/check-names.ts'
import { checkModel, checkValues } from '../fields/check-values.ts'
import { demandsOf } from '../fields/demands-of.ts'
import { optionalNames } from '../fields/field-rule.ts'
import { inputBytes, toolsInPrompt } from '../fields/input-size.ts'
import { type ReadNested, readNested } from '../fields/read-nested.ts'
import type { ParsedBody, ReadRequestOutcome } from '../request-reader.ts'
import { carriedItems } from './carried-items.ts'
import { checkInput, type OthersByItem } from './check-input.ts'
import { checkFormat, checkMetadata } from './check-settings.ts'
import { CONTROL_FIELDS, NESTED_FIELDS, RESPONSES_FIELDS } from './fields.ts'
import { isCallType } from './item-types.ts'
import { mendItems } from './mend-items.ts'
import { type ReadTools, readTools, rewrittenTools } from './read-tools.ts'

/**
 * Reads what admission decides on, and checks all that a translation relies on. What the body refers to by id has been put
 * into its input before.
 */
export function readRequest(body: ParsedBody, found: FoundInBody): ReadRequestOutcome<ResponsesRequest> {
  const { value } = body
  const wrong = checkNames(body.members, CONTROL_FIELDS) ?? checkModel(value.model) ?? checkFields(value)
  if (wrong) return refused(wrong)
  const nested = readNested(body, NESTED_FIELDS)
  if (nested.kind === 'refused') return nested
  const wrongFormat = checkFormat(value.text)
  if (wrongFormat) return refused(wrongFormat)
  const others: OthersByItem = new Map()
  const wrongInput = checkInput(value.input, others)
  if (wrongInput) return refused(wrongInput)
  const tools = readTools(value)
  if (tools.kind === 'refused') return tools
  const carried = Array.isArray(value.input) ? carriedItems(value.input) : []
  const { storable, ...known } = found
  const storedInput = value.store === false ? undefined : storable
  return { kind: 'read', request: { ...requestOf(body, { nested, others, tools, carried }), ...known, storedInput } }
}

const checkFields = (value: ParsedBody['value']): Problem | undefined =>
  checkValues(value, RESPONSES_FIELDS) ?? checkMetadata(value.metadata)

/** What had to be found out about a body before it could be read. */
interface FoundInBody extends Pick<ResponsesRequest, 'sealed' | 'boundTo' | 'compacts' | 'previousResponseId'> {
  /** What would be stored of its input; undefined where nothing will be, whatever it asks for. */
  readonly storable: ResponsesRequest['storedInput']
}

interface Parts {
  readonly nested: Extract<ReadNested, { kind: 'read' }>
  readonly others: OthersByItem
  readonly tools: Extract<ReadTools, { kind: 'tools' }>
  /** The items that go to a model. */
  readonly carried: readonly Fields[]
}

function requestOf(
  body: ParsedBody,
  { nested, others, tools, carried }: Parts,
): Omit<ResponsesRequest, keyof FoundInBody | 'storedInput'> {
  const { value } = body
  const rewritten = rewrittenMembers(body, tools, carried)
  const effort = isObject(value.reasoning) ? value.reasoning.effort : undefined
  return {
    protocol: 'responses',
    body: { bytes: body.bytes, members: body.members },
    model: value.model as string,
    effort: typeof effort === 'string' ? effortOf(effort) : undefined,
    effortParam: 'reasoning.effort',
    delivery: value.stream === true ? 'stream' : 'json',
    outputCap: (value.max_output_tokens as number | null | undefined) ?? undefined,
    outputCapParam: 'max_output_tokens',
    choices: 1,
    inputField: 'input',
    demands: demandsOf({ choices: 1, toolChoice: value.tool_choice, format: formatIn(value) }),
    inputSize: sizeOf(body, tools.count, rewritten),
    otherInputs: othersIn(carried, others),
    ignoredTools: tools.ignored,
    toolNames: tools.count + carried.filter(isCall).length,
    rewritten,
    optionalFields: [...optionalNames(body.members, RESPONSES_FIELDS), ...nested.ignored.filter(goesNowhere)],
  }
}

/** The output of a call that is left out is left out with it: what is in it is neither read nor paid for. */
const othersIn = (carried: readonly Fields[], others: OthersByItem): readonly OtherInput[] =>
  others.size === 0 ? [] : carried.flatMap((item) => others.get(item) ?? [])

function rewrittenMembers(
  body: ParsedBody,
  tools: Parts['tools'],
  items: readonly Fields[],
): Map<string, Buffer | null> {
  const { tools: declared, input } = body.value
  const rewritten = rewrittenTools(body, (declared as Fields[] | null | undefined) ?? [], tools)
  if (!Array.isArray(input)) return rewritten
  const carried = mendItems(items)
  const isWhole = carried.length === input.length && carried.every((item, at) => item === input[at])
  return isWhole ? rewritten : rewritten.set('input', Buffer.from(JSON.stringify(carried)))
}

/** What is inside a field that goes to the provider as it came goes along. */
const goesNowhere = (name: string): boolean => RESPONSES_FIELDS[name.split('.', 1)[0]!]?.policy === 'control'

const formatIn = ({ text }: ParsedBody['value']): unknown => (isObject(text) ? text.format : undefined)

const INPUT_FIELDS = new Set(['input', 'instructions', 'tools', 'text'])

function sizeOf(body: ParsedBody, declared: number, rewritten: TurnRequest['rewritten']): InputSize {
  const { bytes, value } = body
  const items: readonly unknown[] = Array.isArray(value.input) ? value.input : ['']
  return {
    bodyBytes: bytes.length,
    inputBytes: inputBytes(body, INPUT_FIELDS, rewritten),
    messages: items.length,
    tools: toolsInPrompt({
      declared,
      format: formatIn(value),
      hasCalls: declared === 0 && items.some(isCall),
    }),
  }
}

const isCall = (item: unknown): boolean => isObject(item) && isCallType(item.type)
