import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { answerOf, get } from '../../support/send-chat.ts'
import { readResponseStream, sendResponse } from '../../support/send-responses.ts'
import type { AgentContext, CompactionKind } from './agent-context.ts'
import { TOOLS } from './agent-tools.ts'
import type { Bill, DeliveredUsage } from './bill.ts'
import type { MillServed, ScriptedModelSetup } from './scripted-model-server.ts'

export interface LineAnswer {
  readonly requestId: string
  readonly output: readonly Fields[]
  readonly inputTokens: number
  readonly served: MillServed
}

/** What an agent sends, with all that it carries of the conversation; every answer is on the bill. */
export interface AgentLine {
  sendTurn(model: string, more: readonly Fields[]): Promise<LineAnswer>
  compact(model: string, kind: CompactionKind, more: readonly Fields[]): Promise<LineAnswer>
  /** The process dies while it makes the conversation short, and comes back. */
  dieInCompaction(model: string, kind: CompactionKind, more: readonly Fields[]): Promise<LineAnswer>
}

interface LineParts {
  readonly setup: ScriptedModelSetup
  readonly bill: Bill
  readonly context: AgentContext
  /** Whether the next answer streams. */
  readonly streams: () => boolean
}

interface RequestInput {
  readonly path: string
  readonly body: Fields
  readonly headers?: Record<string, string>
}

const TRIGGER = { type: 'compaction_trigger' }

export function createAgentLine({ setup, bill, context, streams }: LineParts): AgentLine {
  const { server } = setup
  const send = ({ body, ...options }: RequestInput) => sendResponse(server, server, body, options)

  async function read(requesting: RequestInput): Promise<{ answer: Fields; reported: LineAnswer }> {
    const sent = await send(requesting)
    const isStream = sent.headers.get('content-type')?.startsWith('text/event-stream')
    const { requestId, ...rest } = await (isStream ? readResponseStream(sent) : answerOf(sent))
    const answer: Fields = 'response' in rest ? rest.response : rest.json
    expect([sent.status, answer.error ?? null], JSON.stringify(answer)).toEqual([200, null])
    const usage = answer.usage as DeliveredUsage & { readonly input_tokens: number }
    const reported = { requestId, output: answer.output as Fields[], inputTokens: usage.input_tokens }
    return { answer, reported: { ...reported, served: bill.add(requestId, usage) } }
  }

  function compacting(model: string, kind: CompactionKind, more: readonly Fields[]): RequestInput {
    const headers = { 'idempotency-key': randomUUID() }
    const { input, store, ...goesOn } = context.bodyWith(more)
    if (kind === 'at-endpoint') return { path: '/responses/compact', headers, body: { model, ...goesOn, input } }
    const stream = kind === 'by-trigger' || streams()
    const body = { model, tools: TOOLS, ...goesOn, input: [...input, TRIGGER], store, stream }
    return { path: '/responses', headers, body }
  }

  async function readCompaction(kind: CompactionKind, requesting: RequestInput): Promise<LineAnswer> {
    const { answer, reported } = await read(requesting)
    expect(reported.output.at(-1)).toEqual({
      id: expect.stringMatching(/^cmp_/),
      type: 'compaction',
      encrypted_content: expect.stringMatching(/^mr1\./),
    })
    if (kind !== 'at-endpoint') expect(reported.output).toHaveLength(1)
    const receipt = await get(server, server, `/requests/${reported.requestId}`)
    const { tokens_before, tokens_after } = receipt.json.compaction
    expect(tokens_before, JSON.stringify(receipt.json)).toBeGreaterThan(reported.inputTokens / 2)
    expect(tokens_after, JSON.stringify(receipt.json)).toBeLessThan(tokens_before / 3)
    expect(tokens_after).toBeGreaterThan(0)
    context.compacted(kind, answer)
    return reported
  }

  return {
    async sendTurn(model, more) {
      const body = { model, tools: TOOLS, ...context.bodyWith(more), stream: streams() }
      const { answer, reported } = await read({ path: '/responses', body })
      expect(answer.status).toBe('completed')
      context.answered(more, answer)
      return reported
    },
    compact: (model, kind, more) => readCompaction(kind, compacting(model, kind, more)),
    async dieInCompaction(model, kind, more) {
      const requesting = compacting(model, kind, more)
      // Of each mill, because a request whose connection was closed while it was idle goes to the next one.
      const mills = Object.values(setup.mills)
      const isRequested = Promise.race(mills.map((mill) => mill.nextAnswer('never-comes')))
      const sent = send(requesting).then((answer) => answer.text())
      const answered = sent.then((text) => Promise.reject(new Error(`answered before the process died: ${text}`)))
      await Promise.race([isRequested, answered])
      for (const mill of mills) mill.answersAgain()
      await Promise.all([setup.die(), expect(answered).rejects.toThrow('fetch failed')])
      return readCompaction(kind, requesting)
    },
  }
}
