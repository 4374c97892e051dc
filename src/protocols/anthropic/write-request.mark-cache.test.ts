import { describe, expect, it } from 'vitest'
import { outputText, sealed, thinking, tool, written } from '../../../test/fixtures/protocols/anthropic/messages.ts'
import { call, conversationOf, message, result } from '../../../test/fixtures/protocols/conversation.ts'
import type { CacheMark } from '../../model/conversation.ts'
import type { PromptCache } from '../../model/effort.ts'

const CONVERSATION = conversationOf(
  [
    ...[message('user', 'a'), sealed(thinking('hm')), call('c'), result('c', 'C')],
    ...[message('assistant', 'b'), message('user', 'd'), message('user', 'e')],
  ],
  { instructions: 'Be brief.', tools: [tool('look'), tool('see')] },
)

/** Where there is a mark: the place of each block in the request. */
function marks(promptCache: PromptCache, conversation = CONVERSATION): string[] {
  const { body } = written(conversation, outputText('anthropic'), { promptCache })
  const found: string[] = []
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      if (name === 'cache_control') found.push(`${path} ${JSON.stringify(member)}`)
      else visit(member, `${path}/${name}`)
    }
  }
  visit(body, '')
  return found
}

const BREAKPOINT: CacheMark = { field: 'prompt_cache_breakpoint', hasOwnTtl: false }
const EPHEMERAL = '{"type":"ephemeral"}'

describe('the parts that a server is asked to cache', () => {
  it('is nothing, what comes before the conversation, or the conversation too', () => {
    expect(marks('off')).toEqual([])
    const before = [`/system/0 ${EPHEMERAL}`, `/tools/1 ${EPHEMERAL}`]
    expect(marks('system')).toEqual(before)
    expect(marks('conversation').sort()).toEqual(
      [...before, `/messages/2/content/0 ${EPHEMERAL}`, `/messages/4/content/1 ${EPHEMERAL}`].sort(),
    )
  })

  it('is marked where the last request was marked, so that it is found again', () => {
    const longer = { ...CONVERSATION, items: [...CONVERSATION.items, message('assistant', 'f'), message('user', 'g')] }
    expect(marks('conversation', longer)).toContain(`/messages/4/content/1 ${EPHEMERAL}`)
  })

  it('is what the client has marked, instead of what we would mark', () => {
    const marked = conversationOf(
      [
        ...[
          message('system', 'Be brief.', { field: 'cache_control', hasOwnTtl: true }),
          message('user', 'a'),
          call('c'),
        ],
        result('c', [{ type: 'text', text: 'C', cacheMark: BREAKPOINT }]),
        message('user', 'b'),
      ],
      { tools: [{ ...tool('look'), cacheMark: BREAKPOINT }, tool('see')] },
    )
    const expected = [`/system/0 ${EPHEMERAL}`, `/messages/2/content/0 ${EPHEMERAL}`, `/tools/0 ${EPHEMERAL}`]
    for (const policy of ['client', 'system', 'conversation'] as const) expect(marks(policy, marked)).toEqual(expected)
    expect(marks('off', marked)).toEqual([])
  })

  it('is no more than a server takes: the last marks keep the most', () => {
    const words = Array.from({ length: 6 }, (_, at) => message('user', `${at}`, BREAKPOINT))
    expect(marks('client', conversationOf(words))).toEqual(
      [2, 3, 4, 5].map((at) => `/messages/0/content/${at} ${EPHEMERAL}`),
    )
    const keepsMarks = (count: number) =>
      written(conversationOf(words.slice(0, count)), outputText('anthropic'), { promptCache: 'client' }).keepsMarks
    expect([keepsMarks(4), keepsMarks(5)]).toEqual([true, false])
  })
})
