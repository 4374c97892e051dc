import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ToolDefinition } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'
import { type Problem, problem, refused } from '../../model/problem.ts'
import type { InputSize, KindBeyondFunctions, OtherInput, ResponsesRequest, TurnRequest } from '../../model/turn.ts'
import { checkNames } from '../fields/check-names.ts'
import { checkModel, checkValues } from '../fields/check-values.ts'
import { demandsOf } from '../fields/demands-of.ts'
import { optionalNames } from '../fields/field-rule.ts'
import { inputBytes, toolsInPrompt } from '../fields/input-size.ts'
import { type ReadNested, readNested } from '../fields/read-nested.ts'
import { jsonArray } from '../json/array-elements.ts'
import type { ParsedBody, ReadRequestOutcome } from '../request-reader.ts'
import { carriedItems } from './carried-items.ts'
import { checkInput, type OthersByItem } from './check-input.ts'
import { checkFormat, checkMetadata } from './check-settings.ts'
import { CONTROL_FIELDS, NESTED_FIELDS, RESPONSES_FIELDS } from './fields.ts'
import { elementsOfBody } from './input-elements.ts'
import { isCallType, typeOfItem } from './item-types.ts'
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
  const items: readonly Fields[] | undefined = Array.isArray(value.input) ? value.input : undefined
  const carried = items === undefined ? [] : carriedItems(items)
  if (items !== undefined && !carried.some(saysSomething)) return refused(nothingLeft(items))
  const { storable, previousItems, ...known } = found
  const storedInput = value.store === false ? undefined : storable
  const leftOut = items === undefined ? [] : namesOfLeftOut(items, carried, previousItems)
  const request = requestOf(body, { nested, others, tools, carried, leftOut })
  return { kind: 'read', request: { ...request, ...known, storedInput } }
}

/** A model cannot answer to tools alone. */
const saysSomething = (item: Fields): boolean => typeOfItem(item) !== 'additional_tools'

function nothingLeft(items: readonly Fields[]): Problem {
  const types = [...new Set(items.map((item) => String(typeOfItem(item))))].slice(0, 5).join(', ')
  const message = `No item of \`input\` can be sent to a model (${types}). Send at least one message or tool result.`
  return problem('invalid_value', message, { param: 'input' })
}

/** The items of this request that go to no lane. Those of the previous response were named when they came. */
function namesOfLeftOut(items: readonly Fields[], carried: readonly Fields[], previousItems: number): string[] {
  const kept = new Set(carried)
  const names: string[] = []
  for (const [at, item] of items.entries()) {
    if (at >= previousItems && !kept.has(item) && saysSomething(item))
      names.push(`input.${at - previousItems}.${String(typeOfItem(item))}`)
  }
  return names
}

const checkFields = (value: ParsedBody['value']): Problem | undefined =>
  checkValues(value, RESPONSES_FIELDS) ?? checkMetadata(value.metadata)

/** What had to be found out about a body before it could be read. */
interface FoundInBody extends Pick<ResponsesRequest, 'sealed' | 'boundTo' | 'compacts' | 'previousResponseId'> {
  /** How many items of the input come from the previous response. */
  readonly previousItems: number
  /** What would be stored of its input; undefined where nothing will be, whatever it asks for. */
  readonly storable: ResponsesRequest['storedInput']
}

interface Parts {
  readonly nested: Extract<ReadNested, { kind: 'read' }>
  readonly others: OthersByItem
  readonly tools: Extract<ReadTools, { kind: 'tools' }>
  /** The items that go to a model. */
  readonly carried: readonly Fields[]
  /** Those that do not, by their places and types. */
  readonly leftOut: readonly string[]
}

function requestOf(
  body: ParsedBody,
  { nested, others, tools, carried, leftOut }: Parts,
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
    toolKinds: kindsIn(tools.definitions, carried),
    rewritten,
    optionalFields: [
      ...optionalNames(body.members, RESPONSES_FIELDS),
      ...nested.ignored.filter(goesNowhere),
      ...leftOut,
    ],
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
  if (isWhole) return rewritten
  // Items that stay keep their own bytes, which the provider has seen in earlier turns.
  const elements = elementsOfBody(body)
  const bytesOf = new Map<Fields, Buffer | undefined>(input.map((item, at) => [item, elements[at]]))
  const bytes = carried.map((item) => bytesOf.get(item) ?? Buffer.from(JSON.stringify(item)))
  return rewritten.set('input', jsonArray(bytes))
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

/** Kinds of tools beyond functions, declared or in the history. */
function kindsIn(tools: readonly ToolDefinition[], items: readonly Fields[]): KindBeyondFunctions[] {
  const hasCustom = tools.some(({ type }) => type === 'custom') || items.some(isCustom)
  const hasNamespace = tools.some(({ namespace }) => namespace !== undefined) || items.some(isNamespaced)
  return [...(hasCustom ? ['custom' as const] : []), ...(hasNamespace ? ['namespace' as const] : [])]
}

const isCustom = ({ type }: Fields): boolean => type === 'custom_tool_call' || type === 'custom_tool_call_output'
const isNamespaced = ({ type, namespace }: Fields): boolean => type === 'additional_tools' || namespace !== undefined

const isCall = (item: unknown): boolean => isObject(item) && isCallType(item.type)
