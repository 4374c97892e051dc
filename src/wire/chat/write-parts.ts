import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import type { ContentPart } from '../../model/conversation.ts'

/** A user's content: many servers only take a string, and get one wherever nothing is lost by it. */
export function writeContent(parts: readonly ContentPart[]): string | Fields[] {
  const [first] = parts
  if (parts.length === 1 && first?.type === 'text') return first.text
  const written = parts.flatMap(writePart)
  return written.length === 0 ? '' : written
}

/** What chat has no shape for gives nothing: a file that is only an address. */
export function writePart(part: ContentPart): Fields[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'image':
      return [{ type: 'image_url', image_url: { url: part.url, detail: part.detail } }]
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }]
    case 'file':
      if (part.data === undefined && part.id === undefined) return []
      return [{ type: 'file', file: { file_data: part.data, file_id: part.id, filename: part.name } }]
    default:
      return assertNever(part)
  }
}
