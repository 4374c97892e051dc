import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { readStream } from '../../support/read-stream.ts'
import { send } from '../../support/send-chat.ts'
import { readResponseStream, sendResponse } from '../../support/send-responses.ts'
import type { TestAccount } from '../../support/test-account.ts'
import type { ReasoningServer } from './reasoning-server.ts'

export type Delivery = 'stream' | 'json'
export type Item = Readonly<Fields>

/** What no client may ever read: every seal of these providers begins with it, also where it is still too short. */
const NATIVE = 'sealed-'

function expectNothingNative(text: string): void {
  expect(text).not.toContain(NATIVE)
}

/** A Responses request of the loop; the answer is a response, and nothing in it is a provider's own seal. */
export async function respondIn(
  { server }: ReasoningServer,
  account: TestAccount,
  { delivery, ...body }: { readonly delivery: Delivery } & Fields,
): Promise<{ readonly id: string; readonly output: readonly Item[]; readonly text: string }> {
  const answer = await sendResponse(server, account, { ...body, stream: delivery === 'stream' })
  const text = await answer.clone().text()
  expect(answer.status, text).toBe(200)
  expectNothingNative(text)
  const response = delivery === 'stream' ? (await readResponseStream(answer)).response : await answer.json()
  return { id: response.id, output: response.output, text }
}

/** The result of each call, as its client sends it. */
export const resultsOf = (output: readonly Item[], words: string): Item[] =>
  output.flatMap(({ type, call_id }) =>
    type === 'function_call' ? [{ type: 'function_call_output', call_id, output: words }] : [],
  )

/** What an assistant has said in Chat, as its client sends it again. */
export async function chatIn(
  { server }: ReasoningServer,
  account: TestAccount,
  { delivery, ...body }: { readonly delivery: Delivery } & Fields,
): Promise<Item> {
  const answer = await send(server, account, { ...body, stream: delivery === 'stream' })
  const text = await answer.clone().text()
  expect(answer.status, text).toBe(200)
  expectNothingNative(text)
  if (delivery === 'json') return JSON.parse(text).choices[0].message
  const { chunks, text: content } = await readStream(answer)
  const calls: Fields[] = []
  for (const { index, function: emitted, ...more } of chunks.flatMap(
    ({ choices }) => choices[0]?.delta.tool_calls ?? [],
  )) {
    const before = calls[index]?.function as { readonly arguments: string } | undefined
    calls[index] = {
      ...calls[index],
      ...more,
      function: { ...before, ...emitted, arguments: (before?.arguments ?? '') + emitted.arguments },
    }
  }
  return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
}

/** The results of what an assistant has called in Chat. */
export const toolMessagesOf = ({ tool_calls }: Item, content: string): Item[] =>
  ((tool_calls as readonly Item[] | undefined) ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content }))

/** What a provider of Responses was sent, shortly: who speaks, what is called, and which seals it got back. */
export const shortly = (items: readonly Item[]): string[] =>
  items.map(({ type, role, name, encrypted_content: seal }) => {
    if (type === 'reasoning') return String(seal ?? 'unsealed')
    return type === 'message' || type === undefined ? String(role) : type === 'function_call' ? `${name}()` : 'result'
  })
