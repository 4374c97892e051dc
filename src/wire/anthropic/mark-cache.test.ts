import { describe, expect, it } from 'vitest'
import type { PromptCache } from '../../model/model-traits.ts'
import { call, conversationOf, message, result } from '../conversation.fixture.ts'
import { sealed, spoken, thinking, tool, written } from './messages.fixture.ts'

const CONVERSATION = conversationOf(
  [
    ...[message('user', 'a'), sealed(thinking('hm')), call('c'), result('c', 'C')],
    ...[message('assistant', 'b'), message('user', 'd'), message('user', 'e')],
  ],
  { instructions: 'Be brief.', tools: [tool('look'), tool('see')] },
)

/** Where there is a mark: the place of each block in the request. */
function marks(promptCache: PromptCache, conversation = CONVERSATION): string[] {
  const { body } = written(conversation, spoken('anthropic'), { promptCache })
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

const EPHEMERAL = '{"type":"ephemeral"}'

describe('what a server is asked to keep', () => {
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
})
