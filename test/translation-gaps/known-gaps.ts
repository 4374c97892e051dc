import type {
  ContentPart,
  Conversation,
  ConversationItem,
  CustomTool,
  MessageItem,
  ToolDefinition,
  ToolName,
} from '../../src/model/conversation.ts'

/** What is known to happen to a conversation on its way into a protocol, under the names of the rows that say so. */
export interface KnownLoss {
  readonly rows: readonly string[]
  readonly apply: (conversation: Conversation) => Conversation
}

export const eachItem = (change: (item: ConversationItem) => readonly ConversationItem[]): KnownLoss['apply'] => {
  return (conversation) => ({ ...conversation, items: conversation.items.flatMap(change) })
}
export const eachMessage = (change: (message: MessageItem) => readonly ConversationItem[]) =>
  eachItem((item) => (item.type === 'message' ? change(item) : [item]))
export const eachTool = (change: (tool: ToolDefinition) => ToolDefinition): KnownLoss['apply'] => {
  return (conversation) => ({ ...conversation, tools: conversation.tools.map(change) })
}
export const eachName = (change: (name: ToolName) => ToolName): KnownLoss['apply'] => {
  return (conversation) => {
    const { toolChoice: choice } = conversation
    if (choice?.type === 'tool') return { ...conversation, toolChoice: { type: 'tool', ...change(choice) } }
    if (choice?.type !== 'allowed') return conversation
    return { ...conversation, toolChoice: { ...choice, tools: choice.tools.map(change) } }
  }
}
export const inTurn =
  (...steps: readonly KnownLoss['apply'][]): KnownLoss['apply'] =>
  (conversation) =>
    steps.reduce((left, step) => step(left), conversation)

export const text = (emitted: string): ContentPart => ({ type: 'text', text: emitted })
export const wordsOf = (parts: readonly ContentPart[], between: string): string =>
  parts.flatMap((part) => ('text' in part ? [part.text] : [])).join(between)
export const isWords = (part: ContentPart): boolean => part.type === 'text' || part.type === 'refusal'

export const withoutReasoning = eachItem((item) => (item.type === 'reasoning' ? [] : [item]))

/** A custom tool as a function of one string, in definition, choice, calls and results. */
export const customAsFunction = () =>
  inTurn(
    eachTool((tool) => (tool.type === 'function' ? tool : asFunction(tool))),
    eachName((name) => ({ ...name, tool: 'function' })),
    eachItem((item) => {
      if (item.type === 'tool-result') return [{ ...item, tool: 'function' }]
      if (item.type !== 'tool-call' || item.tool === 'function') return [item]
      return [{ ...item, tool: 'function', text: JSON.stringify({ input: item.text }) }]
    }),
  )

function asFunction({ name, namespace, description, grammar }: CustomTool): ToolDefinition {
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  const delivered = [description, rule].filter((each) => each !== undefined).join('\n\n')
  const input = { type: 'string', description: 'The whole input of the tool, as plain text.' }
  return {
    type: 'function',
    name,
    namespace,
    description: delivered === '' ? undefined : delivered,
    parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
    strict: false,
  }
}
