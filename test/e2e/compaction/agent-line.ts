import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { answerOf, get } from '../../support/send-chat.ts'
import { readResponseStream, sendResponse } from '../../support/send-responses.ts'
import type { AgentContext, CompactionKind } from './agent-context.ts'
import { TOOLS } from './agent-tools.ts'
import type { Bill, ToldUsage } from './bill.ts'
import type { MillHouse, MillServed } from './scripted-model-server.ts'

export interface LineAnswer {
  readonly requestId: string
  readonly output: readonly Fields[]
  readonly inputTokens: number
  readonly served: MillServed
}

/** What an agent sends, with all that it carries of the conversation; every answer is on the bill. */
export interface AgentLine {
  ask(model: string, more: readonly Fields[]): Promise<LineAnswer>
  compact(model: string, kind: CompactionKind, more: readonly Fields[]): Promise<LineAnswer>
  /** The process dies while it makes the conversation short, and comes back. */
  dieInCompaction(model: string, kind: CompactionKind, more: readonly Fields[]): Promise<LineAnswer>
}

interface LineParts {
  readonly house: MillHouse
  readonly bill: Bill
  readonly context: AgentContext
  /** Whether the next answer streams. */
  readonly streams: () => boolean
}

interface Asking {
  readonly path: string
  readonly body: Fields
  readonly headers?: Record<string, string>
}

const TRIGGER = { type: 'compaction_trigger' }

export function createAgentLine({ house, bill, context, streams }: LineParts): AgentLine {
  const { server } = house
  const send = ({ body, ...options }: Asking) => sendResponse(server, server, body, options)

  async function read(asking: Asking): Promise<{ answer: Fields; told: LineAnswer }> {
    const sent = await send(asking)
    const isStream = sent.headers.get('content-type')?.startsWith('text/event-stream')
    const { requestId, ...rest } = await (isStream ? readResponseStream(sent) : answerOf(sent))
    const answer: Fields = 'response' in rest ? rest.response : rest.json
    expect([sent.status, answer.error ?? null], JSON.stringify(answer)).toEqual([200, null])
    const usage = answer.usage as ToldUsage & { readonly input_tokens: number }
    const told = { requestId, output: answer.output as Fields[], inputTokens: usage.input_tokens }
    return { answer, told: { ...told, served: bill.add(requestId, usage) } }
  }

  function compacting(model: string, kind: CompactionKind, more: readonly Fields[]): Asking {
    const headers = { 'idempotency-key': randomUUID() }
    const { input, store, ...goesOn } = context.bodyWith(more)
    if (kind === 'at-endpoint') return { path: '/responses/compact', headers, body: { model, ...goesOn, input } }
    const stream = kind === 'by-trigger' || streams()
    const body = { model, tools: TOOLS, ...goesOn, input: [...input, TRIGGER], store, stream }
    return { path: '/responses', headers, body }
  }

  async function readCompaction(kind: CompactionKind, asking: Asking): Promise<LineAnswer> {
    const { answer, told } = await read(asking)
    expect(told.output.at(-1)).toEqual({
      id: expect.stringMatching(/^cmp_/),
      type: 'compaction',
      encrypted_content: expect.stringMatching(/^mr1\./),
    })
    if (kind !== 'at-endpoint') expect(told.output).toHaveLength(1)
    const receipt = await get(server, server, `/requests/${told.requestId}`)
    const { tokens_before, tokens_after } = receipt.json.compaction
    expect(tokens_before, JSON.stringify(receipt.json)).toBeGreaterThan(told.inputTokens / 2)
    expect(tokens_after, JSON.stringify(receipt.json)).toBeLessThan(tokens_before / 3)
    expect(tokens_after).toBeGreaterThan(0)
    context.compacted(kind, answer)
    return told
  }

  return {
    async ask(model, more) {
      const body = { model, tools: TOOLS, ...context.bodyWith(more), stream: streams() }
      const { answer, told } = await read({ path: '/responses', body })
      expect(answer.status).toBe('completed')
      context.answered(more, answer)
      return told
    },
    compact: (model, kind, more) => readCompaction(kind, compacting(model, kind, more)),
    async dieInCompaction(model, kind, more) {
      const asking = compacting(model, kind, more)
      const isAsked = house.first.nextAnswer('never-comes')
      const sent = send(asking).then((answer) => answer.text())
      const answered = sent.then((text) => Promise.reject(new Error(`answered by somebody else: ${text}`)))
      await Promise.race([isAsked, answered])
      await Promise.all([house.die(), expect(answered).rejects.toThrow('fetch failed')])
      return readCompaction(kind, asking)
    },
  }
}
