import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ContentPart } from '../../model/conversation.ts'

/** A string or a list of parts; what is neither has nothing in it. */
export function readContent(content: unknown): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isObject).flatMap(readPart) : []
}

function readPart(part: Fields): ContentPart[] {
  switch (part.type) {
    case 'text':
      return typeof part.text === 'string' ? [{ type: 'text', text: part.text }] : []
    case 'refusal':
      return typeof part.refusal === 'string' ? [{ type: 'refusal', text: part.refusal }] : []
    case 'image_url':
      return readImage(part.image_url)
    case 'input_audio':
      return readAudio(part.input_audio)
    case 'file':
      return isObject(part.file) ? [readFile(part.file)] : []
    default:
      return []
  }
}

/** Some clients leave out the object around the address. */
function readImage(image: unknown): ContentPart[] {
  const { url, detail }: Fields = isObject(image) ? image : { url: image }
  return typeof url === 'string' ? [{ type: 'image', url, detail: stringOf(detail) }] : []
}

function readAudio(audio: unknown): ContentPart[] {
  if (!isObject(audio) || typeof audio.data !== 'string') return []
  return [{ type: 'audio', data: audio.data, format: stringOf(audio.format) ?? 'wav' }]
}

const readFile = ({ file_data, file_id, filename }: Fields): ContentPart => ({
  type: 'file',
  data: stringOf(file_data),
  url: undefined,
  id: stringOf(file_id),
  name: stringOf(filename),
})

export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
