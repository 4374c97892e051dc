import type { ProviderError } from './provider-error.ts'
import { withoutQuotes } from './without-quotes.ts'

/**
 * What of a request a server complains about, by the names that its own protocol has for it: top-level fields, and of
 * Gemini those inside of `generationConfig`. Writers leave out what `withoutFields` of their dialect names.
 */
interface RefusedField {
  /** More than one where the same words come from servers that call it differently, or for several at once. */
  readonly names: readonly string[]
  /** Not the field is refused but what stood in it: the next request's may be fine. */
  readonly onlyValue: boolean
}

export function refusedField({ code, param, message }: ProviderError): RefusedField | undefined {
  const named = namedIn(withoutQuotes(message, NAME))
  const isRefusal = code !== undefined && /^(?:unsupported_parameter|unsupported_value|extra_forbidden)$/.test(code)
  if (named === undefined && !isRefusal) return undefined
  const onlyValue = code === 'unsupported_value' || (named?.onlyValue ?? false)
  const ownWord = param === undefined || param === '' ? undefined : namesOf(param)
  return { names: ownWord ?? named?.names ?? [], onlyValue }
}

/** A field's name or the way to it. What else a provider quotes a client may have written, so that it names a field. */
const NAME = /^[\w.[\]-]{1,200}$/

interface Complaint {
  readonly pattern: RegExp
  /** The fields that it means; where none are named, the first group of the pattern is a path to one. */
  readonly names?: readonly string[]
  readonly onlyValue?: true
  /** It is a name inside of Gemini's `generationConfig`. */
  readonly isSetting?: true
}

/** By whatever name it goes in a protocol. */
const THINKING = ['thinking', 'thinkingConfig', 'reasoning_effort', 'reasoning']
const PENALTIES = ['presencePenalty', 'frequencyPenalty', 'presence_penalty', 'frequency_penalty']

/** The first that fits. Words of real servers; what they quote of a request is never a field of it. */
const COMPLAINTS: readonly Complaint[] = [
  // A model that does not reason has nothing to seal, and its server says so without naming the field.
  { pattern: /encrypted content is not supported/i, names: ['include'] },
  // Google: the name, and in which object it stood.
  { pattern: /unknown name "(\w{1,60})" at 'generation_?config': cannot find field/i, isSetting: true },
  { pattern: /unknown name "(\w{1,60})": cannot find field/i },
  { pattern: /unknown name "\w{1,60}" at '([\w.[\]]{1,200})': cannot find field/i },
  { pattern: /invalid value at '(generation_?config\.thinking_?config)[\w.]{0,100}'/i, onlyValue: true },
  { pattern: /adaptive (thinking) is not/i, onlyValue: true },
  { pattern: /thinking (?:is not supported|is not enabled)|does not support thinking/i, names: THINKING },
  {
    pattern: /thinking.?(?:level|budget)\b.{0,60}(?:not supported|unsupported|invalid)/i,
    names: ['thinkingConfig'],
    onlyValue: true,
  },
  {
    pattern: /\bbudget -?\d{1,9} is invalid|only works in thinking mode/i,
    names: ['thinkingConfig'],
    onlyValue: true,
  },
  { pattern: /penalty is not (?:enabled|supported)/i, names: PENALTIES },
  { pattern: /logprobs is not (?:enabled|supported)/i, names: ['responseLogprobs', 'logprobs', 'top_logprobs'] },
  // Anthropic: the path, and what is wrong there. A thought that is asked for in another way may be fine.
  { pattern: /^([a-z_]{1,60})(?:\.[\w.-]{1,200})?: extra inputs are not permitted/i },
  { pattern: /^(thinking)(?:\.[\w.-]{1,100})?: /i, onlyValue: true },
  { pattern: /^(output_config)\.effort: /i, onlyValue: true },
  { pattern: /^[`'"]?(thinking)\.[\w.-]{1,100}[`'"]? (?:is|are) (?:not|un)/i, onlyValue: true },
  { pattern: /does not support effort level/i, names: ['output_config'], onlyValue: true },
  { pattern: /does not support (?:the )?[`'"]?effort[`'"]?(?: parameter)?/i, names: ['output_config'] },
  { pattern: /[`'"]([a-z_]{1,60})[`'"] (?:is|are) (?:deprecated|not supported|not allowed|no longer supported)\b/i },
  // OpenAI, and who speaks like it.
  { pattern: /unsupported value[: ]{1,3}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i, onlyValue: true },
  {
    pattern:
      /(?:unsupported|unrecognized|unknown|unexpected|extra)[^'"`:]{0,100}(?:parameter|argument|field|input|value)?s?[^'"`]{0,30}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i,
  },
]

/** It is about what is said to the model, or a tool: that is no field of its own. */
const INSIDE_CONTENT = /^(?:messages|input|contents|tools|system)\b[\w.[\]-]{0,200}:/

function namedIn(message: string): RefusedField | undefined {
  if (INSIDE_CONTENT.test(message)) return undefined
  for (const { pattern, names, onlyValue = false, isSetting = false } of COMPLAINTS) {
    const found = pattern.exec(message)
    if (found !== null) return { names: names ?? namesOf(found[1] ?? '', isSetting), onlyValue }
  }
  return undefined
}

/**
 * The field that a path leads into. What Gemini has in an object of settings is a field by itself, and goes by the name that
 * other protocols have for it as well: `topP` is `top_p` to whoever asks for it.
 */
function namesOf(path: string, isSetting = false): readonly string[] {
  const [first = '', second] = path.split(/[.[\]]/)
  const setting = isSetting ? first : camelled(first) === 'generationConfig' ? second : undefined
  if (setting === undefined) return [first]
  const name = camelled(setting)
  return [...new Set([name, OTHER_NAMES[name] ?? snaked(name)])]
}

const OTHER_NAMES: Readonly<Record<string, string>> = {
  responseLogprobs: 'logprobs',
  logprobs: 'top_logprobs',
  // Nobody else has it.
  thinkingConfig: 'thinkingConfig',
}

/** Google names in one spelling what it was sent in the other. */
const camelled = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snaked = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * It complains about sealed reasoning that it was given back: it cannot open it any more, or not in this place. Without it
 * the same request may be fine.
 */
export const refusesSeals = ({ status, code = '', param = '', message }: ProviderError): boolean =>
  (status === undefined || status === 400 || status === 422) && SEALS_REFUSED.test(`${code} ${param} ${message}`)

/** OpenAI's words, Google's, and Anthropic's: for a seal that it cannot read, a thought that is missing, one that was changed. */
const SEALS_REFUSED =
  /encrypted.?content|thought.?signature|signature.{0,60}(?:thinking|reasoning)|(?:thinking|reasoning).{0,60}(?:signature|without its required)|must start with a thinking block|redacted_thinking/i

/**
 * It does not know what asks it to make a conversation short. A word about something else in the request says nothing about
 * the server, only about that request.
 */
export const refusesTrigger = ({ code = '', param, message }: ProviderError): boolean =>
  /compaction/i.test(`${code} ${message}`) && (param === undefined || /^(input(\[\d+\])?(\.type)?)?$/.test(param))
