import { type Fields, isObject } from '../../src/lib/types.ts'
import { joinSentences, type ParsedRequest, type ParsedTool, type Step } from './polite-model.ts'
import { demand, demandKnown, demandList, demandText } from './strict-request.ts'

/** What a generateContent provider takes. */
export interface GeminiTaste {
  /** The signatures that it has put on what it has said and called. */
  readonly signatures: ReadonlyMap<string, SignedPart>
}

export interface SignedPart {
  readonly model: string
  /** What was signed. */
  readonly place: string
}

/** A signature goes back on the same call, or on words; ids of calls are a gateway's own. */
export function placeOf({ functionCall: call }: Fields): string {
  return isObject(call) ? `call ${call.name} ${JSON.stringify(call.args)}` : 'text'
}

/** What the documentation gives for calls that another model has made. */
const SENTINEL = 'skip_thought_signature_validator'

const KNOWN = new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings'])
const CONFIG_KNOWN = new Set([
  ...['maxOutputTokens', 'temperature', 'topP', 'topK', 'stopSequences', 'seed', 'presencePenalty', 'frequencyPenalty'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseLogprobs', 'logprobs', 'thinkingConfig'],
])

/** The documented rules about contents, each of which is a 400 at Google. */
export function parseContents(receivedRequest: Fields, taste: GeminiTaste): ParsedRequest {
  const { model, stream: _stream, ...body } = receivedRequest
  demandKnown(body, KNOWN)
  const { generationConfig: config = {} } = receivedRequest
  demand(isObject(config), 'Invalid value at generation_config', 'generationConfig')
  demandKnown(config, CONFIG_KNOWN, 'generation_config.')
  demand(Number(config.maxOutputTokens) >= 1, 'max_output_tokens is missing: nobody holds money for this.', 'config')
  return {
    steps: stepsOf(demandList(receivedRequest.contents, 'contents'), { ...taste, model: String(model) }),
    tools: toolsOf(receivedRequest.tools),
    choice: choiceOf(receivedRequest.toolConfig),
    effort: effortOf(config.thinkingConfig),
    schema: schemaOf(config),
  }
}

const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

function toolsOf(tools: unknown): ParsedTool[] {
  if (tools === undefined) return []
  return demandList(tools, 'tools').flatMap(({ functionDeclarations }) =>
    demandList(functionDeclarations, 'tools').map((tool): ParsedTool => {
      const name = demandText(tool.name, 'tools.name')
      demand(TOOL_NAME.test(name), `Invalid function name: ${name}`, 'tools.name')
      const parameters = tool.parametersJsonSchema ?? tool.parameters ?? {}
      demand(isObject(parameters), 'Invalid schema', 'tools.parameters')
      return { kind: 'function', name, namespace: undefined, parameters }
    }),
  )
}

function choiceOf(config: unknown): ParsedRequest['choice'] {
  if (config === undefined) return 'auto'
  demand(isObject(config) && isObject(config.functionCallingConfig), 'Invalid value at tool_config', 'toolConfig')
  const { mode, allowedFunctionNames: names } = config.functionCallingConfig
  if (Array.isArray(names) && names.length === 1 && mode === 'ANY') return { name: String(names[0]) }
  if (mode === 'ANY') return 'required'
  return mode === 'NONE' ? 'none' : 'auto'
}

function effortOf(config: unknown): string | undefined {
  if (config === undefined) return undefined
  demand(isObject(config), 'Invalid value at thinking_config', 'thinkingConfig')
  const { thinkingLevel: level, thinkingBudget: budget } = config
  demand(level === undefined || budget === undefined, 'You can only set one of thinking budget and level.', 'config')
  if (level === undefined) return budget === undefined ? undefined : budget === 0 ? 'none' : String(budget)
  demand(
    ['minimal', 'low', 'medium', 'high'].includes(String(level).toLowerCase()),
    'Thinking level is not supported',
    'config',
  )
  return String(level)
}

function schemaOf({ responseMimeType: type, responseJsonSchema, responseSchema }: Fields): Fields | undefined {
  const schema = responseJsonSchema ?? responseSchema
  if (schema === undefined) return undefined
  demand(isObject(schema) && type === 'application/json', 'A schema needs the mime type application/json', 'config')
  return schema
}

interface Reading extends GeminiTaste {
  readonly model: string
}

/** Roles take turns, the user begins, and the results of a turn's calls follow it at once, as many and in their order. */
function stepsOf(contents: readonly Fields[], reading: Reading): Step[] {
  demand(contents.length > 0, 'contents is not specified', 'contents')
  const steps: Step[] = []
  let open: string[] = []
  for (const [index, { role, parts }] of contents.entries()) {
    const at = `contents[${index}]`
    demand(role === (index % 2 === 0 ? 'user' : 'model'), `${at}: roles must alternate, beginning with user`, at)
    const given = demandList(parts, `${at}.parts`)
    demand(given.length > 0, `${at}.parts must not be empty`, at)
    if (role === 'user') {
      steps.push(...joinSentences(given.map((part) => parsedOf(part, at))))
      const answered = given.flatMap(({ functionResponse: emitted }) =>
        isObject(emitted) ? [String(emitted.name)] : [],
      )
      demand(
        JSON.stringify(answered) === JSON.stringify(open),
        'Please ensure that the number of function response parts is equal to the number of function call parts.',
        at,
      )
      open = []
    } else {
      open = callsOf(given)
      checkSigned(given, { ...reading, at })
      steps.push(...given.flatMap(outputOf))
    }
  }
  demand(open.length === 0, 'A function call must be followed by its response.', 'contents')
  demand(contents.length % 2 === 1, 'The last content must be of the user.', 'contents')
  return steps
}

function parsedOf({ text, functionResponse: emitted, inlineData }: Fields, at: string): Step {
  if (typeof text === 'string') return { from: 'user', text }
  if (isObject(inlineData)) return { from: 'user', text: '' }
  demand(isObject(emitted) && isObject(emitted.response), `${at}: a function response has to be an object`, at)
  const { result, output, content } = emitted.response
  const words = [result, output, content].find((each) => typeof each === 'string')
  return { from: 'result', name: String(emitted.name), text: String(words ?? JSON.stringify(emitted.response)) }
}

const callsOf = (parts: readonly Fields[]): string[] =>
  parts.flatMap(({ functionCall: call }) => (isObject(call) ? [String(call.name)] : []))

function outputOf({ text, functionCall: call, thought }: Fields): Step[] {
  if (isObject(call)) return [{ from: 'call', name: String(call.name), text: JSON.stringify(call.args ?? {}) }]
  return typeof text === 'string' && text !== '' && thought !== true ? [{ from: 'assistant', text }] : []
}

/** The first call of a turn comes with the signature that it had, or with the word for those of others. */
function checkSigned(parts: readonly Fields[], { signatures, model, at }: Reading & { readonly at: string }): void {
  const first = parts.find(({ functionCall: call }) => isObject(call))
  const missing = 'Function call is missing a thought_signature in functionCall parts.'
  if (first !== undefined) demand(typeof first.thoughtSignature === 'string', missing, at)
  for (const part of parts) {
    const { thoughtSignature: signature } = part
    if (signature === undefined || signature === SENTINEL) continue
    const signed = signatures.get(String(signature))
    demand(signed?.model === model && signed.place === placeOf(part), 'Thought signature is not valid.', at)
  }
}
