import { type Fields, isObject } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import { delivered } from './delivered.ts'
import { emitsAnswer, emitsFirstText } from './emit-items.ts'
import type { Script } from './fault-upstream.ts'

/** The most that this provider counts for one picture and for one document: what the catalogue says of it. */
export const IMAGE_TOKENS = 1500
export const FILE_TOKENS = 9000
export const OUTPUT_TOKENS = 5

/**
 * A provider that looks at all that it is shown, counts as much for it as it ever does, and says what it saw: every
 * byte of words a token, every picture and document its most. Text in files it reads, byte for byte. As the model `liar` it
 * counts ten times as much, as `breaks` it breaks off after two words.
 */
export const seesParts: Script = async (providerAnswer) => {
  const words = seenIn(providerAnswer.receivedRequest).flatMap((sight) => (sight.what === 'words' ? [] : [sight.what]))
  const input = inputCounted(providerAnswer) * (providerAnswer.model === 'liar' ? 10 : 1)
  const answer = {
    items: [{ kind: 'message', words: ['I see: ', words.join('; ') || 'nothing'] }],
    usage: 'input' in providerAnswer.receivedRequest ? responsesUsage(input) : chatUsage(input),
  } as const
  if (providerAnswer.model !== 'breaks') return emitsAnswer(answer)(providerAnswer)
  await emitsFirstText(answer, async () => {
    await delivered()
    providerAnswer.reset()
  })(providerAnswer)
}

export const inputCounted = ({ receivedRequest }: ProviderAnswer): number =>
  seenIn(receivedRequest).reduce((sum, { tokens }) => sum + tokens, 0)

const chatUsage = (input: number) => ({
  prompt_tokens: input,
  completion_tokens: OUTPUT_TOKENS,
  total_tokens: input + OUTPUT_TOKENS,
})

const responsesUsage = (input: number) => ({
  ...{ input_tokens: input, input_tokens_details: { cached_tokens: 0 } },
  ...{ output_tokens: OUTPUT_TOKENS, output_tokens_details: { reasoning_tokens: 0 } },
  total_tokens: input + OUTPUT_TOKENS,
})

interface Sight {
  readonly what: string
  readonly tokens: number
}

function seenIn({ input, instructions, messages }: Fields): Sight[] {
  const items = (input ?? messages) as string | readonly Fields[]
  const first = typeof instructions === 'string' ? [words(instructions)] : []
  if (typeof items === 'string') return [...first, words(items)]
  return [...first, ...items.flatMap(({ content, output }) => contentSeen(content ?? output))]
}

const contentSeen = (content: unknown): Sight[] =>
  typeof content === 'string' ? [words(content)] : Array.isArray(content) ? content.flatMap(partSeen) : []

const words = (text: string): Sight => ({ what: 'words', tokens: Buffer.byteLength(text) })

function partSeen(part: Fields): Sight[] {
  const { type, text, image_url: image, file } = part
  if (typeof text === 'string') return [words(text)]
  if (type === 'image_url' && isObject(image)) return [imageSeen(String(image.url), image.detail)]
  if (type === 'input_image') return [imageSeen(String(image), part.detail)]
  if (type === 'file' && isObject(file)) return [fileSeen(file)]
  if (type === 'input_file') return [fileSeen(part)]
  throw new Error(`No part of this provider's: ${JSON.stringify(part).slice(0, 200)}`)
}

const imageSeen = (url: string, detail: unknown): Sight => ({
  what: `image ${shownAs(url)} ${detail ?? 'as it likes'}`,
  tokens: IMAGE_TOKENS,
})

function fileSeen({ file_data: data, file_url: url, filename }: Fields): Sight {
  if (typeof data !== 'string') return { what: `file ${url}`, tokens: FILE_TOKENS }
  const text = Buffer.from(data.slice(data.indexOf(',') + 1), 'base64')
  const tokens = data.startsWith('data:text/') ? text.length : FILE_TOKENS
  return { what: `file ${filename} ${shownAs(data)}`, tokens }
}

/** An address as it is, data by its type and length. */
const shownAs = (url: string): string =>
  url.startsWith('data:') ? `${url.slice(5, url.indexOf(';'))} of ${url.length}` : url
