import type {
  CallItem,
  ContentPart,
  ConversationItem,
  MessageItem,
  ResultItem,
  ToolDefinition,
} from '../../src/model/conversation.ts'
import type { ChatDialect } from '../../src/protocols/chat/dialects.ts'
import {
  customAsFunction,
  eachItem,
  eachMessage,
  eachName,
  eachTool,
  inTurn,
  isWords,
  type KnownLoss,
  text,
  withoutReasoning,
  wordsOf,
} from './known-gaps.ts'

const withoutTools: KnownLoss['apply'] = (conversation) =>
  conversation.tools.length > 0
    ? conversation
    : { ...conversation, toolChoice: undefined, parallelToolCalls: undefined }

const CUSTOM_IN_RESPONSES = ['input[]: custom_tool_call', 'tools[]: custom', 'tool_choice: custom']

export const lossesIntoChat = (dialect: ChatDialect): readonly KnownLoss[] => [
  {
    rows: ['tool_choice: allowed_tools'],
    apply(conversation) {
      const { toolChoice, tools } = conversation
      if (toolChoice?.type !== 'allowed' || dialect.allowedTools) return conversation
      const isAllowed = ({ name, namespace }: ToolDefinition) =>
        toolChoice.tools.some((tool) => tool.name === name && tool.namespace === namespace)
      return { ...conversation, tools: tools.filter(isAllowed), toolChoice: { type: toolChoice.mode } }
    },
  },
  {
    rows: ['input[].namespace', 'tools[]: namespace'],
    apply: inTurn(
      eachTool(flat),
      eachName(flat),
      eachItem((item) => [item.type === 'tool-call' ? flat(item) : item]),
    ),
  },
  {
    rows: [...CUSTOM_IN_RESPONSES, 'tools[].format: grammar'],
    apply: dialect.customTools ? inTurn() : customAsFunction(),
  },
  {
    rows: ['tools[]: function without strict'],
    apply: eachTool((tool) => (tool.type === 'function' ? { ...tool, strict: tool.strict === true } : tool)),
  },
  { rows: ['tool_choice without tools'], apply: withoutTools },
  {
    rows: [
      ...['input[]: reasoning, content', 'input[]: reasoning, summary'],
      ...[
        'input[]: reasoning, encrypted_content of a Responses lane',
        'input[]: reasoning, encrypted_content of a Chat lane',
      ],
    ],
    apply: withoutReasoning,
  },
  { rows: ['input[].phase'], apply: eachMessage((message) => [{ ...message, phase: undefined }]) },
  {
    rows: ['content[]: input_file, file_url'],
    apply: eachMessage((message) => [
      { ...message, content: message.content.filter((part) => part.type !== 'file' || part.url === undefined) },
    ]),
  },
  {
    rows: ['content[]: refusal'],
    apply: dialect.refusals ? inTurn() : eachMessage((message) => [{ ...message, content: apart(message.content) }]),
  },
  {
    rows: ['input[]: message, system in several texts'],
    apply: eachMessage((message) =>
      message.role === 'system' || message.role === 'developer'
        ? [{ ...message, content: [text(wordsOf(message.content, '\n'))] }]
        : [message],
    ),
  },
  {
    rows: [
      ...['input[]: message, two of an assistant in a row', 'input[]: message, assistant without words'],
      ...['input[]: function_call without an output', 'input[]: function_call_output, not behind its call'],
      ...['input[]: function_call_output, in several texts', 'input[]: function_call_output, with an image'],
    ],
    apply: (conversation) => ({ ...conversation, items: turnsOf(conversation.items) }),
  },
  {
    rows: ['instructions'],
    apply({ instructions, ...rest }) {
      const first = { type: 'message', role: 'developer', phase: undefined, name: undefined } as const
      const emitted = instructions === undefined ? [] : [{ ...first, content: [text(instructions)] }]
      return { ...rest, instructions: undefined, items: [...emitted, ...rest.items] }
    },
  },
  {
    rows: ['input[]: message, developer'],
    apply: eachMessage((message) => [
      message.role === 'developer' && !dialect.developerRole ? { ...message, role: 'system' } : message,
    ]),
  },
  {
    rows: ['text.format: text'],
    apply: (conversation) =>
      conversation.format?.type === 'text' ? { ...conversation, format: undefined } : conversation,
  },
  {
    rows: ['reasoning.summary'],
    apply: (conversation) => ({ ...conversation, reasoning: { summary: undefined } }),
  },
]

function flat<Named extends { readonly name: string; readonly namespace: string | undefined }>(named: Named): Named {
  const { name, namespace } = named
  return namespace === undefined ? named : { ...named, name: `${namespace}__${name}`, namespace: undefined }
}

/** What an assistant says and calls until another role speaks is one message, followed by the results of its calls. */
function turnsOf(items: readonly ConversationItem[]): ConversationItem[] {
  const results = new Map(items.flatMap((item) => (item.type === 'tool-result' ? [[item.callId, item] as const] : [])))
  const left: ConversationItem[] = []
  let emitted: MessageItem[] = []
  let calls: CallItem[] = []
  const endTurn = () => {
    left.push(...messageOf(emitted, calls.length > 0), ...calls, ...calls.flatMap((call) => resultOf(call, results)))
    const shown = calls.flatMap((call) => shownOf(call, results))
    if (shown.length > 0)
      left.push({ type: 'message', role: 'user', content: shown, phase: undefined, name: undefined })
    emitted = []
    calls = []
  }
  for (const item of items) {
    if (item.type === 'message' && item.role === 'assistant') emitted.push(item)
    else if (item.type === 'tool-call') calls.push(item)
    else if (item.type === 'message') {
      endTurn()
      left.push(item)
    } else if (calls.length > 0) endTurn()
  }
  endTurn()
  return left
}

/** What was said and what was refused are two texts, of which a server that has one place makes one. */
function apart(content: readonly ContentPart[]): ContentPart[] {
  const refused = wordsOf(
    content.filter(({ type }) => type === 'refusal'),
    '',
  )
  const emitted = content.filter(({ type }) => type !== 'refusal')
  if (refused === '') return emitted
  const words = wordsOf(
    emitted.filter(({ type }) => type === 'text'),
    '',
  )
  return [...emitted, text(words === '' ? refused : `\n\n${refused}`)]
}

function messageOf(emitted: readonly MessageItem[], calls: boolean): MessageItem[] {
  const [first] = emitted
  if (first === undefined) return []
  const joined = (type: 'text' | 'refusal') =>
    emitted
      .map(({ content }) =>
        wordsOf(
          content.filter((part) => part.type === type),
          '',
        ),
      )
      .filter((each) => each !== '')
      .join('\n\n')
  const [words, refusal] = [joined('text'), joined('refusal')]
  const refused: ContentPart[] = refusal === '' ? [] : [{ type: 'refusal', text: refusal }]
  if (words === '' && refusal === '') return calls ? [] : [{ ...first, content: [text('')] }]
  return [
    {
      ...first,
      name: emitted.find(({ name }) => name !== undefined)?.name,
      content: [...(words === '' ? [] : [text(words)]), ...refused],
    },
  ]
}

function resultOf(call: CallItem, results: ReadonlyMap<string, ResultItem>): ResultItem[] {
  const { tool, callId } = call
  const content = results.get(callId)?.content
  if (content === undefined) return [{ type: 'tool-result', tool, callId, content: [text('aborted')] }]
  const words = wordsOf(content, '\n')
  const delivered = words === '' && !content.every(isWords) ? 'The result is shown below.' : words
  return [{ type: 'tool-result', tool, callId, content: [text(delivered)] }]
}

function shownOf({ callId, name }: CallItem, results: ReadonlyMap<string, ResultItem>): ContentPart[] {
  const shown = results.get(callId)?.content.filter((part) => !isWords(part)) ?? []
  return shown.length === 0 ? [] : [text(`From the result of the tool ${name}:`), ...shown]
}
