import OpenAI, { APIError } from 'openai'
import type { Address } from '../support/send-chat.ts'

/** The client as anybody would make it; tries nothing again unless the test is about that. */
export const openaiFor = ({ baseUrl }: Address, { key }: { readonly key: string }): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: baseUrl, maxRetries: 0 })

/** What a call was refused with, or broke off with. */
export async function errorOf(call: Promise<unknown>): Promise<InstanceType<typeof APIError>> {
  try {
    await call
  } catch (error) {
    if (error instanceof APIError) return error
    throw error
  }
  throw new Error('the call was not refused')
}

/** Everything of a stream; rejects as the iteration does. */
export async function everyOf<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of stream) all.push(each)
  return all
}

/** With what it has really sent. */
export interface CountedClient {
  readonly client: OpenAI
  readonly requests: { sent: number }
}

export interface ChangeRequest {
  readonly maxRetries?: number
  readonly headers?: Record<string, string>
  /** Sees each answer before the client does. */
  readonly onAnswer?: (response: Response) => Promise<void>
}

/** The client as anybody would make it, but for counting what it really sends. */
export function countedClient(
  { baseUrl }: Address,
  who: { key: string },
  { maxRetries = 2, headers = {}, onAnswer }: ChangeRequest = {},
): CountedClient {
  const requests = { sent: 0 }
  const client = new OpenAI({
    apiKey: who.key,
    baseURL: baseUrl,
    maxRetries,
    defaultHeaders: headers,
    async fetch(url, init) {
      requests.sent += 1
      const response = await fetch(url, init)
      await onAnswer?.(response)
      return response
    },
  })
  return { client, requests }
}

/** A message of a person. */
export const words = (content: string) => [{ role: 'user' as const, content }]
