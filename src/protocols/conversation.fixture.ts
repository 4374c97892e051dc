import { type CacheMark, type Conversation, type ConversationItem, EMPTY_CONVERSATION } from '../model/conversation.ts'

export const conversationOf = (items: readonly ConversationItem[], over: Partial<Conversation> = {}): Conversation => ({
  ...EMPTY_CONVERSATION,
  items,
  ...over,
})

type Item<Type extends ConversationItem['type']> = Extract<ConversationItem, { type: Type }>

const text = (said: string, cacheMark?: CacheMark) => [
  { type: 'text' as const, text: said, ...(cacheMark === undefined ? {} : { cacheMark }) },
]

export const message = (
  role: Item<'message'>['role'],
  content: string | Item<'message'>['content'],
  cacheMark?: CacheMark,
): ConversationItem => ({
  type: 'message',
  role,
  content: typeof content === 'string' ? text(content, cacheMark) : content,
  phase: undefined,
  name: undefined,
})

export const call = (callId: string, over: Partial<Item<'tool-call'>> = {}): ConversationItem => ({
  type: 'tool-call',
  tool: 'function',
  callId,
  name: 'look',
  namespace: undefined,
  text: '{}',
  ...over,
})

export const result = (callId: string, content: string | Item<'tool-result'>['content']): ConversationItem => ({
  type: 'tool-result',
  tool: 'function',
  callId,
  content: typeof content === 'string' ? text(content) : content,
})

export const reasoning = (said: string, summary: readonly string[] = []): ConversationItem => ({
  type: 'reasoning',
  summary,
  text: said,
  opaque: undefined,
})
