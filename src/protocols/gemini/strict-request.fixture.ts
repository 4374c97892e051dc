import { type Fields, isObject } from '../../lib/types.ts'
import { FOREIGN_CALL } from './thought-signatures.ts'

/** What a judge knows besides the request. */
export interface Judge {
  /** The signatures that this model has set. */
  readonly signatures: ReadonlySet<string>
  /** It refuses a first call without one. */
  readonly signedCalls: boolean
  readonly callIds: boolean
}

const STRICT: Judge = { signatures: new Set(), signedCalls: true, callIds: true }

/**
 * What is wrong with a generateContent request, after the API reference and the 400s that it is known for; undefined for
 * nothing. Pure, so that any test can ask it.
 */
export function refusalOfGeminiRequest(body: unknown, judge: Partial<Judge> = {}): string | undefined {
  try {
    checkBody(body, { ...STRICT, ...judge })
    return undefined
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal.message
    throw refusal
  }
}

class Refusal extends Error {}

function insist(isRight: boolean, message: string): asserts isRight {
  if (!isRight) throw new Refusal(message)
}

/** JSON is read by a schema there: a name that it does not have is an error. */
function fieldsOf(value: unknown, at: string, known: readonly string[]): Fields {
  insist(isObject(value), `${at}: not an object`)
  for (const name of Object.keys(value)) insist(known.includes(name), `Unknown name "${name}" at '${at}'`)
  return value
}

function listOf(value: unknown, at: string): readonly unknown[] {
  insist(Array.isArray(value) && value.length > 0, `${at}: not a list with something in it`)
  return value
}

const isOneOf = (value: unknown, words: readonly string[]): boolean =>
  typeof value === 'string' && words.includes(value)
const isNumberIn = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && value >= min && value <= max
const isWhole = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && isNumberIn(value, min, max)

const BODY = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings']

function checkBody(value: unknown, judge: Judge): void {
  const body = fieldsOf(value, 'request', BODY)
  const declared = body.tools === undefined ? [] : checkTools(body.tools)
  if (body.toolConfig !== undefined) checkToolConfig(body.toolConfig, declared)
  if (body.systemInstruction !== undefined) checkSystem(body.systemInstruction)
  checkConfig(body.generationConfig ?? {})
  checkContents(listOf(body.contents, 'contents'), judge)
}

function checkSystem(value: unknown): void {
  const { parts } = fieldsOf(value, 'systemInstruction', ['parts', 'role'])
  for (const part of listOf(parts, 'systemInstruction.parts')) {
    const { text } = fieldsOf(part, 'systemInstruction.parts', ['text'])
    insist(typeof text === 'string' && text !== '', 'systemInstruction takes text')
  }
}

const FUNCTION_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/

function checkTools(tools: unknown): readonly unknown[] {
  const names = listOf(tools, 'tools').flatMap((tool) => {
    const { functionDeclarations } = fieldsOf(tool, 'tools', ['functionDeclarations'])
    return listOf(functionDeclarations, 'functionDeclarations').map((each) => {
      const fields = fieldsOf(each, 'functionDeclarations', [
        ...['name', 'description', 'parameters', 'parametersJsonSchema'],
      ])
      insist(FUNCTION_NAME.test(String(fields.name)), `Invalid function name: ${fields.name}`)
      const schema = fields.parametersJsonSchema ?? { type: 'object' }
      insist(isObject(schema), 'a schema is an object')
      insist(fields.description === undefined || typeof fields.description === 'string', 'a description is text')
      return fields.name
    })
  })
  insist(new Set(names).size === names.length, 'Duplicate function declaration found')
  return names
}

function checkToolConfig(value: unknown, declared: readonly unknown[]): void {
  const { functionCallingConfig } = fieldsOf(value, 'toolConfig', ['functionCallingConfig'])
  const config = fieldsOf(functionCallingConfig, 'functionCallingConfig', ['mode', 'allowedFunctionNames'])
  insist(declared.length > 0, 'Function calling config is set without function_declarations.')
  insist(isOneOf(config.mode, ['AUTO', 'ANY', 'NONE', 'VALIDATED']), `unknown mode ${config.mode}`)
  if (config.allowedFunctionNames === undefined) return
  insist(isOneOf(config.mode, ['ANY', 'VALIDATED']), 'allowed_function_names should only be set when mode is ANY')
  for (const name of listOf(config.allowedFunctionNames, 'allowedFunctionNames')) {
    insist(declared.includes(name), `allowed_function_names: ${name} is not declared`)
  }
}

const CONFIG = [
  ...['maxOutputTokens', 'temperature', 'topP', 'topK', 'stopSequences', 'seed', 'presencePenalty', 'frequencyPenalty'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseLogprobs', 'logprobs', 'thinkingConfig'],
]

function checkConfig(value: unknown): void {
  const config = fieldsOf(value, 'generation_config', CONFIG)
  const { temperature, topP, seed, logprobs, stopSequences, responseJsonSchema: schema } = config
  insist(isWhole(config.maxOutputTokens, 1, 2 ** 31 - 1), 'max_output_tokens is missing: nobody holds money for this')
  insist(temperature === undefined || isNumberIn(temperature, 0, 2), 'temperature out of range')
  insist(topP === undefined || isNumberIn(topP, 0, 1), 'top_p out of range')
  insist(seed === undefined || isWhole(seed, -(2 ** 31), 2 ** 31 - 1), 'Invalid value at seed (TYPE_INT32)')
  insist(logprobs === undefined || config.responseLogprobs === true, 'logprobs needs response_logprobs')
  insist(logprobs === undefined || isWhole(logprobs, 1, 20), 'logprobs out of range')
  if (stopSequences !== undefined) {
    const words = listOf(stopSequences, 'stop_sequences')
    insist(words.length <= 5 && words.every((word) => typeof word === 'string' && word !== ''), 'wrong stop_sequences')
  }
  insist(schema === undefined || isObject(schema), 'a schema is an object')
  insist(
    schema === undefined || config.responseMimeType === 'application/json',
    'A schema needs a response_mime_type of application/json',
  )
  if (config.thinkingConfig !== undefined) checkThinking(config.thinkingConfig)
}

function checkThinking(value: unknown): void {
  const fields = fieldsOf(value, 'thinking_config', ['thinkingLevel', 'thinkingBudget', 'includeThoughts'])
  const { thinkingLevel: level, thinkingBudget: budget, includeThoughts } = fields
  insist(
    level === undefined || budget === undefined,
    'You can only set only one of thinking budget and thinking level.',
  )
  insist(level === undefined || isOneOf(level, ['minimal', 'low', 'medium', 'high']), `no thinking level ${level}`)
  insist(budget === undefined || isWhole(budget, -1, 65_535), 'thinking budget out of range')
  insist(!(budget === 0 && includeThoughts === true), 'Include_thoughts is only enabled when thinking is enabled.')
}

const PART = ['text', 'thought', 'thoughtSignature', 'inlineData', 'fileData', 'functionCall', 'functionResponse']
const PLACES = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse']

/** Roles take turns, and the results of a turn's calls follow it at once, as many and in their order. */
function checkContents(contents: readonly unknown[], judge: Judge): void {
  let open: readonly Fields[] = []
  for (const [index, value] of contents.entries()) {
    const at = `contents[${index}]`
    const { role, parts: given } = fieldsOf(value, at, ['role', 'parts'])
    insist(role === (index % 2 === 0 ? 'user' : 'model'), `${at}: roles must alternate, beginning with user`)
    const parts = listOf(given, `${at}.parts`).map((part) => fieldsOf(part, `${at}.parts`, PART))
    for (const part of parts) checkPart(part, { at, judge })
    const calls = membersIn(parts, 'functionCall')
    const responses = membersIn(parts, 'functionResponse')
    if (role === 'user') {
      insist(calls.length === 0, `${at}: a user calls no functions`)
      checkResponses(responses, open, at)
      insist(
        parts.slice(0, responses.length).every((part) => part.functionResponse !== undefined),
        `${at}: responses come first`,
      )
    } else {
      insist(responses.length === 0, `${at}: responses are the user's`)
      const first = parts.find(({ functionCall }) => functionCall !== undefined)
      insist(
        first === undefined || !judge.signedCalls || first.thoughtSignature !== undefined,
        'Function call is missing a thought_signature in functionCall parts.',
      )
    }
    open = calls
  }
  insist(contents.length % 2 === 1, 'the last content must be of the user')
}

const membersIn = (parts: readonly Fields[], name: string): Fields[] =>
  parts.flatMap((part) => {
    const member = part[name]
    return isObject(member) ? [member] : []
  })

function checkResponses(responses: readonly Fields[], open: readonly Fields[], at: string): void {
  insist(
    responses.length === open.length,
    `${at}: the number of function response parts must be equal to the number of function call parts`,
  )
  for (const [index, { name, id }] of responses.entries()) {
    insist(name === open[index]?.name && id === open[index]?.id, `${at}: response ${index} is to another call`)
  }
}

function checkPart(part: Fields, { at, judge }: { readonly at: string; readonly judge: Judge }): void {
  const filled = PLACES.filter((name) => part[name] !== undefined)
  insist(filled.length === 1, `${at}: a part is one thing, not ${filled.length}`)
  const { text, thoughtSignature: signature, thought } = part
  insist(thought === undefined, `${at}: thoughts are not sent`)
  insist(text !== '' || signature !== undefined, `${at}: an empty text`)
  insist(text === undefined || typeof text === 'string', `${at}: a text that is none`)
  if (signature !== undefined) {
    const isKnown = signature === FOREIGN_CALL || judge.signatures.has(String(signature))
    insist(isKnown, 'Thought signature is not valid.')
    insist(signature !== FOREIGN_CALL || part.functionCall !== undefined, 'the sentinel is for calls')
  }
  const names = judge.callIds ? ['id'] : []
  if (part.functionCall !== undefined) {
    const { name, args } = fieldsOf(part.functionCall, 'function_call', [...names, 'name', 'args'])
    insist(FUNCTION_NAME.test(String(name)) && isObject(args), `${at}: a call needs a name and an object of args`)
  }
  if (part.functionResponse !== undefined) {
    const { response } = fieldsOf(part.functionResponse, 'function_response', [...names, 'name', 'response'])
    insist(isObject(response), `${at}: a function response is an object`)
  }
  if (part.inlineData !== undefined) checkMedia(part.inlineData, 'data')
  if (part.fileData !== undefined) checkMedia(part.fileData, 'fileUri')
}

function checkMedia(value: unknown, place: string): void {
  const fields = fieldsOf(value, 'media', ['mimeType', place])
  insist(/^[a-z]+\/[a-z0-9.+-]+$/.test(String(fields.mimeType)), `wrong mime type ${fields.mimeType}`)
  insist(typeof fields[place] === 'string' && fields[place] !== '', `${place} is missing`)
}
