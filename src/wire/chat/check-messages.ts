import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkFileData, checkImageUrl, noFilesHere, type PartSource, wordsOnly } from '../fields/check-source.ts'
import { checkEach, wrongType } from '../fields/check-value.ts'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** Who may show what is not text. */
const SHOWS = new Set(['user', 'tool', 'function'])
const TEXT_PARTS = new Set(['text', 'refusal'])

/** Messages as far as we must understand them: who speaks, and whether there is anything but text. */
export function checkMessages(messages: unknown): Problem | OtherInput[] {
  if (messages === undefined || messages === null) {
    return problem('missing_required_parameter', 'The field `messages` is missing. Send at least one message.', {
      param: 'messages',
    })
  }
  if (!Array.isArray(messages)) return wrongType('messages', messages, 'an array')
  if (messages.length === 0) {
    return problem('invalid_value', '`messages` is empty. Send at least one message.', { param: 'messages' })
  }
  const others: OtherInput[] = []
  return checkEach('messages', messages, (param, message) => checkMessage(param, message, others)) ?? others
}

function checkMessage(param: string, message: unknown, others: OtherInput[]): Problem | undefined {
  if (!isObject(message)) return wrongType(param, message, 'an object')
  const { role } = message
  if (typeof role !== 'string') {
    if (role === undefined) {
      return problem('missing_required_parameter', `\`${param}.role\` is missing.`, { param: `${param}.role` })
    }
    return wrongType(`${param}.role`, role, 'a string')
  }
  if (!ROLES.has(role)) {
    const shown = JSON.stringify(role.slice(0, 40))
    return problem('invalid_value', `\`${param}.role\` is ${shown}; it must be one of ${[...ROLES].join(', ')}.`, {
      param: `${param}.role`,
    })
  }
  return checkContent(`${param}.content`, role, message, others)
}

function checkContent(
  param: string,
  role: string,
  message: Record<string, unknown>,
  others: OtherInput[],
): Problem | undefined {
  const { content } = message
  if (typeof content === 'string') return undefined
  if (content === null || content === undefined) {
    // An assistant that only called tools has said nothing, and clients send that as null or not at all.
    if (role === 'assistant' || role === 'function') return undefined
    return content === null
      ? wrongType(param, content, 'a string or an array of parts')
      : problem('missing_required_parameter', `\`${param}\` is missing.`, { param })
  }
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, SHOWS.has(role) ? others : undefined))
}

/** `others`: undefined where only words may stand. */
function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  if (isOtherPart(type)) {
    if (others === undefined) return wordsOnly(param)
    const other = readOtherPart(param, type, part)
    if ('code' in other) return other
    others.push(other)
    return undefined
  }
  if (!TEXT_PARTS.has(type)) {
    return problem(
      'unsupported_content',
      `\`${param}\` is a part of type ${JSON.stringify(type.slice(0, 40))}; this gateway takes text.`,
      { param },
    )
  }
  const text = type === 'refusal' ? part.refusal : part.text
  return typeof text === 'string' ? undefined : wrongType(`${param}.${type}`, text, 'a string')
}

type Read = (param: string, part: Fields) => PartSource | Problem

/** Parts that are not text: what a model's `inputs` calls them, and what they come as. */
const OTHER_PARTS: ReadonlyMap<string, { readonly kind: OtherInput['kind']; readonly read: Read }> = new Map([
  ['image_url', { kind: 'image', read: readImage }],
  ['file', { kind: 'file', read: readFile }],
  // No model takes it: whatever is in it is refused.
  ['input_audio', { kind: 'audio', read: () => ({ form: 'text', dataBytes: 0 }) }],
])

const isOtherPart = (type: string): boolean => OTHER_PARTS.has(type)

function readOtherPart(param: string, type: string, part: Fields): OtherInput | Problem {
  const { kind, read } = OTHER_PARTS.get(type)!
  const source = read(param, part)
  return 'code' in source ? source : { kind, param, ...source }
}

/** Some clients leave out the object around the address. */
function readImage(param: string, { image_url: image }: Fields): PartSource | Problem {
  const { url, detail }: Fields = isObject(image) ? image : { url: image }
  const place = isObject(image) ? `${param}.image_url.url` : `${param}.image_url`
  if (detail !== undefined && detail !== null && typeof detail !== 'string') {
    return wrongType(`${param}.image_url.detail`, detail, 'a string')
  }
  return typeof url === 'string' ? checkImageUrl(place, url) : noText(place, url)
}

function readFile(param: string, { file }: Fields): PartSource | Problem {
  if (!isObject(file)) return wrongType(`${param}.file`, file, 'an object')
  const { file_id: id, file_data: data, filename } = file
  if (id !== undefined && id !== null) return noFilesHere(`${param}.file.file_id`, '`file_data`')
  if (filename !== undefined && filename !== null && typeof filename !== 'string') {
    return wrongType(`${param}.file.filename`, filename, 'a string')
  }
  const place = `${param}.file.file_data`
  return typeof data === 'string' ? checkFileData(place, data) : noText(place, data)
}

function noText(param: string, value: unknown): Problem {
  if (value !== undefined && value !== null) return wrongType(param, value, 'a string')
  return problem('missing_required_parameter', `\`${param}\` is missing.`, { param })
}
