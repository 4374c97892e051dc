import type { ContentPart, Conversation, ConversationItem, ToolDefinition, ToolName } from '../../model/conversation.ts'
import type { ChatDialect } from '../chat/dialects.ts'
import type { ResponsesDialect } from '../responses/dialects.ts'

/** What is known to happen to a conversation on its way into a protocol, under the names of the rows that say so. */
export interface KnownLoss {
  readonly rows: readonly string[]
  readonly apply: (conversation: Conversation) => Conversation
}

type Call = Extract<ConversationItem, { type: 'tool-call' }>
type Result = Extract<ConversationItem, { type: 'tool-result' }>
type Message = Extract<ConversationItem, { type: 'message' }>

const eachItem = (change: (item: ConversationItem) => readonly ConversationItem[]): KnownLoss['apply'] => {
  return (conversation) => ({ ...conversation, items: conversation.items.flatMap(change) })
}
const eachMessage = (change: (message: Message) => readonly ConversationItem[]) =>
  eachItem((item) => (item.type === 'message' ? change(item) : [item]))
const eachTool = (change: (tool: ToolDefinition) => ToolDefinition): KnownLoss['apply'] => {
  return (conversation) => ({ ...conversation, tools: conversation.tools.map(change) })
}
const eachName = (change: (name: ToolName) => ToolName): KnownLoss['apply'] => {
  return (conversation) => {
    const { toolChoice: choice } = conversation
    if (choice?.type === 'tool') return { ...conversation, toolChoice: { type: 'tool', ...change(choice) } }
    if (choice?.type !== 'allowed') return conversation
    return { ...conversation, toolChoice: { ...choice, tools: choice.tools.map(change) } }
  }
}
const inTurn =
  (...steps: readonly KnownLoss['apply'][]): KnownLoss['apply'] =>
  (conversation) =>
    steps.reduce((left, step) => step(left), conversation)

const text = (said: string): ContentPart => ({ type: 'text', text: said })
const wordsOf = (parts: readonly ContentPart[], between: string): string =>
  parts.flatMap((part) => ('text' in part ? [part.text] : [])).join(between)
const isWords = (part: ContentPart): boolean => part.type === 'text' || part.type === 'refusal'

const withoutReasoning = eachItem((item) => (item.type === 'reasoning' ? [] : [item]))
const withoutTools: KnownLoss['apply'] = (conversation) =>
  conversation.tools.length > 0
    ? conversation
    : { ...conversation, toolChoice: undefined, parallelToolCalls: undefined }

/** A custom tool as a function of one string, in definition, choice, calls and results. */
const customAsFunction = (described: (tool: Extract<ToolDefinition, { type: 'custom' }>) => Partial<ToolDefinition>) =>
  inTurn(
    eachTool((tool) => {
      if (tool.type === 'function') return tool
      const { name, namespace } = tool
      return { type: 'function', name, namespace, strict: false, ...described(tool) } as ToolDefinition
    }),
    eachName((name) => ({ ...name, tool: 'function' })),
    eachItem((item) => {
      if (item.type === 'tool-result') return [{ ...item, tool: 'function' }]
      if (item.type !== 'tool-call' || item.tool === 'function') return [item]
      return [{ ...item, tool: 'function', text: JSON.stringify({ input: item.text }) }]
    }),
  )

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
    apply: dialect.customTools ? inTurn() : customAsFunction(describedInChat),
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
    apply: dialect.refusals
      ? inTurn()
      : eachMessage((message) => [
          { ...message, content: message.content.map((part) => (part.type === 'refusal' ? text(part.text) : part)) },
        ]),
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
      const said = instructions === undefined ? [] : [{ ...first, content: [text(instructions)] }]
      return { ...rest, instructions: undefined, items: [...said, ...rest.items] }
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

function describedInChat({ description, grammar }: Extract<ToolDefinition, { type: 'custom' }>) {
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  const told = [description, rule].filter((each) => each !== undefined).join('\n\n')
  const input = { type: 'string', description: 'The whole input of the tool, as plain text.' }
  return {
    description: told === '' ? undefined : told,
    parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
  }
}

/** What an assistant says and calls until somebody else speaks is one message, and behind it are the results of its calls. */
function turnsOf(items: readonly ConversationItem[]): ConversationItem[] {
  const results = new Map(items.flatMap((item) => (item.type === 'tool-result' ? [[item.callId, item] as const] : [])))
  const left: ConversationItem[] = []
  let said: Message[] = []
  let calls: Call[] = []
  const endTurn = () => {
    left.push(...messageOf(said, calls.length > 0), ...calls, ...calls.flatMap((call) => resultOf(call, results)))
    const shown = calls.flatMap((call) => shownOf(call, results))
    if (shown.length > 0)
      left.push({ type: 'message', role: 'user', content: shown, phase: undefined, name: undefined })
    said = []
    calls = []
  }
  for (const item of items) {
    if (item.type === 'message' && item.role === 'assistant') said.push(item)
    else if (item.type === 'tool-call') calls.push(item)
    else if (item.type === 'message') {
      endTurn()
      left.push(item)
    } else if (calls.length > 0) endTurn()
  }
  endTurn()
  return left
}

function messageOf(said: readonly Message[], calls: boolean): Message[] {
  const [first] = said
  if (first === undefined) return []
  const joined = (type: 'text' | 'refusal') =>
    said
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
      name: said.find(({ name }) => name !== undefined)?.name,
      content: [...(words === '' ? [] : [text(words)]), ...refused],
    },
  ]
}

function resultOf(call: Call, results: ReadonlyMap<string, Result>): Result[] {
  const { tool, callId } = call
  const content = results.get(callId)?.content
  if (content === undefined) return [{ type: 'tool-result', tool, callId, content: [text('aborted')] }]
  const words = wordsOf(content, '\n')
  const told = words === '' && !content.every(isWords) ? 'The result is in the next message.' : words
  return [{ type: 'tool-result', tool, callId, content: [text(told)] }]
}

function shownOf({ callId, name }: Call, results: ReadonlyMap<string, Result>): ContentPart[] {
  const shown = results.get(callId)?.content.filter((part) => !isWords(part)) ?? []
  return shown.length === 0 ? [] : [text(`From the result of the tool ${name}:`), ...shown]
}

export const lossesIntoResponses = (dialect: ResponsesDialect): readonly KnownLoss[] => [
  { rows: ['messages[].name'], apply: eachMessage((message) => [{ ...message, name: undefined }]) },
  { rows: ['messages[].reasoning_content'], apply: withoutReasoning },
  {
    rows: ['messages[]: assistant without words'],
    apply: eachMessage((message) => {
      if (message.role !== 'assistant') return [message]
      const content = message.content.filter((part) => !isWords(part) || wordsOf([part], '') !== '')
      return content.length === 0 ? [] : [{ ...message, content }]
    }),
  },
  {
    rows: ['messages[]: tool, in several texts'],
    apply: eachItem((item) => [
      item.type === 'tool-result' && item.content.every(isWords)
        ? { ...item, content: [text(wordsOf(item.content, ''))] }
        : item,
    ]),
  },
  {
    rows: ['content[]: image_url without detail'],
    apply: eachMessage((message) => [
      {
        ...message,
        content: message.content.map((part) =>
          part.type === 'image' ? { ...part, detail: part.detail ?? 'auto' } : part,
        ),
      },
    ]),
  },
  {
    rows: [
      ...['messages[].tool_calls[]: custom', 'messages[]: tool, of a custom call', 'tools[]: custom'],
      ...['tools[].custom.format: grammar', 'tool_choice: custom'],
    ],
    apply: dialect.nativeTools.includes('custom') ? inTurn() : customAsFunction(describedInResponses),
  },
  {
    rows: ['tools[].function without parameters'],
    apply: eachTool((tool) =>
      tool.type === 'function' ? { ...tool, parameters: tool.parameters ?? { type: 'object', properties: {} } } : tool,
    ),
  },
  {
    rows: ['response_format: json_schema without schema'],
    apply: ({ format, ...rest }) => ({
      ...rest,
      format: format?.type === 'json_schema' ? { ...format, schema: format.schema ?? {} } : format,
    }),
  },
  {
    rows: ['seed', 'logit_bias', 'stop'],
    apply: ({ sampling, ...rest }) => ({
      ...rest,
      sampling: { ...sampling, seed: undefined, logitBias: undefined, stop: [] },
    }),
  },
  {
    // None is what silence means.
    rows: ['presence_penalty', 'frequency_penalty'],
    apply({ sampling, ...rest }) {
      const taken = (name: string, value: number | undefined) =>
        dialect.withoutFields.includes(name) || value === 0 ? undefined : value
      const presencePenalty = taken('presence_penalty', sampling.presencePenalty)
      const frequencyPenalty = taken('frequency_penalty', sampling.frequencyPenalty)
      return { ...rest, sampling: { ...sampling, presencePenalty, frequencyPenalty } }
    },
  },
]

function describedInResponses({ description = '', grammar }: Extract<ToolDefinition, { type: 'custom' }>) {
  const rule = grammar && `The string \`input\` follows this ${grammar.syntax} grammar:\n${grammar.definition}`
  return {
    description: rule === undefined ? description : [description, rule].filter((each) => each !== '').join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    },
  }
}
