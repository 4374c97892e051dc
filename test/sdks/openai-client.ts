import OpenAI, { APIError } from 'openai'
import type { Address } from '../support/ask.ts'

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
