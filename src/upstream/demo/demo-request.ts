/** What the demo understands of a Chat request. It was checked at the door; what is missing or odd simply counts as absent. */
export interface DemoRequest {
  readonly model: string
  readonly messages: readonly DemoMessage[]
  readonly stream: boolean
  readonly effort: string | undefined
  readonly outputCap: number
  readonly stop: readonly string[]
  readonly tool: DemoTool | undefined
}

export interface DemoMessage {
  readonly role: string
  readonly text: string
}

export interface DemoTool {
  readonly name: string
  readonly parameters: Record<string, unknown>
}

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

export function readDemoRequest(body: Buffer): DemoRequest {
  const fields = JSON.parse(body.toString('utf8')) as Fields
  const messages = listOf(fields.messages).map((message) => ({
    role: String(message.role),
    text: textOf(message.content),
  }))
  return {
    model: String(fields.model),
    messages,
    stream: fields.stream === true,
    effort: typeof fields.reasoning_effort === 'string' ? fields.reasoning_effort : undefined,
    outputCap: Number(fields.max_completion_tokens),
    stop: [fields.stop].flat().filter((word): word is string => typeof word === 'string' && word !== ''),
    tool: toolToCall(fields, messages),
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

/**
 * Which tool the demo calls: the one that the client forces, else, when the last word is the user's, the first whose name
 * the user mentions. After a tool's result it answers in words, so that a tool loop ends.
 */
function toolToCall(fields: Fields, messages: readonly DemoMessage[]): DemoTool | undefined {
  const last = messages.at(-1)
  const choice = fields.tool_choice
  if (choice === 'none' || last?.role === 'tool') return undefined
  const tools = listOf(fields.tools)
    .map((tool) => tool.function)
    .filter(isFields)
    .map((definition) => ({
      name: String(definition.name),
      parameters: isFields(definition.parameters) ? definition.parameters : {},
    }))
  if (isFields(choice) && isFields(choice.function)) {
    const forced = choice.function.name
    return tools.find((tool) => tool.name === forced)
  }
  if (choice === 'required' || fields.model === 'demo-tools') return tools[0]
  const said = last?.text.toLowerCase() ?? ''
  return tools.find((tool) => said.includes(tool.name.toLowerCase()))
}
