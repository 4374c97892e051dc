import type { ContentPart } from '../model/conversation.ts'

type Words = Extract<ContentPart, { readonly type: 'text' | 'refusal' }>

export const isText = (part: ContentPart): part is Words => part.type === 'text' || part.type === 'refusal'

/** The words among parts, as the string that every server takes. */
export const textOfParts = (parts: readonly ContentPart[], separator: string): string =>
  parts.flatMap((part) => (isText(part) ? [part.text] : [])).join(separator)
