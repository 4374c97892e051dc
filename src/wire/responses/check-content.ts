import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkEach } from '../fields/check-each.ts'
import { wrongType } from '../fields/check-value.ts'
import { checkMaybeText, checkText, isAbsent, missing, shown } from './check-member.ts'

/** Text by whatever name: clients send an assistant's kind of part in a user's message, and the other way round. */
export const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
])

/** Parts that are not text, by what a model's `inputs` calls them. */
const OTHER_PARTS: ReadonlyMap<string, OtherInput['kind']> = new Map([
  ['input_image', 'image'],
  ['input_file', 'file'],
  ['input_audio', 'audio'],
])

/** What an item says: a text, or parts of which those that are not text are noted, for the model to decide. */
export function checkContent(param: string, content: unknown, others: OtherInput[]): Problem | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, others))
}

function checkPart(param: string, part: unknown, others: OtherInput[]): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string')
    return isAbsent(type) ? missing(`${param}.type`) : wrongType(`${param}.type`, type, 'a string')
  if (TEXT_PARTS.has(type)) return checkText(`${param}.text`, part.text)
  if (type === 'refusal') return checkText(`${param}.refusal`, part.refusal)
  const kind = OTHER_PARTS.get(type)
  if (kind === undefined) return notTaken(param, type)
  others.push({ kind, param })
  return checkOther(param, kind, part)
}

const notTaken = (param: string, type: string): Problem =>
  problem('unsupported_content', `\`${param}\` is a part of type ${shown(type)}; this gateway takes text.`, { param })

function checkOther(param: string, kind: OtherInput['kind'], part: Fields): Problem | undefined {
  switch (kind) {
    case 'image':
      return checkImage(param, part)
    case 'file':
      return checkFile(param, part)
    case 'audio':
      return checkAudio(param, part.input_audio)
  }
}

function checkImage(param: string, { image_url: url, file_id: file, detail }: Fields): Problem | undefined {
  if (isAbsent(url) && !isAbsent(file)) {
    const message = `\`${param}.file_id\` names a file, and this gateway keeps none. Send the image as \`image_url\`.`
    return problem('unsupported_content', message, { param: `${param}.file_id` })
  }
  return checkText(`${param}.image_url`, url) ?? checkMaybeText(`${param}.detail`, detail)
}

const FILE_MEMBERS = ['file_data', 'file_url', 'file_id', 'filename'] as const

function checkFile(param: string, part: Fields): Problem | undefined {
  for (const name of FILE_MEMBERS) {
    const found = checkMaybeText(`${param}.${name}`, part[name])
    if (found) return found
  }
  if (FILE_MEMBERS.some((name) => name !== 'filename' && !isAbsent(part[name]))) return undefined
  return missing(`${param}.file_data`)
}

function checkAudio(param: string, audio: unknown): Problem | undefined {
  if (!isObject(audio)) return wrongType(`${param}.input_audio`, audio, 'an object')
  return checkText(`${param}.input_audio.data`, audio.data) ?? checkText(`${param}.input_audio.format`, audio.format)
}
