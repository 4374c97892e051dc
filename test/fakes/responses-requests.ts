import { type Fields, isObject } from '../../src/lib/types.ts'
import { outputName, type ParsedRequest, type ParsedTool, type Step } from './polite-model.ts'
import { demand, demandKnown, demandList, demandText, demandToolName } from './strict-request.ts'

/** What a Responses provider takes. */
export interface ResponsesTaste {
  /** Custom tools, namespaces and sealed reasoning, as OpenAI has them; else functions alone and reasoning in words. */
  readonly knows: 'everything' | 'functions'
  /** The seals that this provider has put on its reasoning, and with which of its models. */
  readonly seals: ReadonlyMap<string, string>
  /** What it was told before it made a conversation short, by what it gave for it. */
  readonly compactions: ReadonlyMap<string, readonly Step[]>
}

/** Asks a provider that can do it to make the conversation short. */
export const TRIGGER = 'compaction_trigger'

const KNOWN = new Set([
  ...['model', 'input', 'instructions', 'stream', 'max_output_tokens', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['reasoning', 'text', 'include', 'store', 'temperature', 'top_p', 'user', 'prompt_cache_key'],
])
const SEALED = 'reasoning.encrypted_content'

/** Without state: nothing is stored, nothing may be referred to, and every item has to be what its type says. */
export function parseResponses(receivedRequest: Fields, taste: ResponsesTaste): ParsedRequest {
  demandKnown(receivedRequest, KNOWN)
  demand(receivedRequest.store === false, 'Nothing is stored here.', 'store')
  demand(Number(receivedRequest.max_output_tokens) >= 16, 'Expected a value of at least 16.', 'max_output_tokens')
  const include = receivedRequest.include ?? []
  demand(Array.isArray(include), 'Invalid type.', 'include')
  demand(taste.knows === 'everything' || !include.includes(SEALED), 'Reasoning is not sealed here.', 'include')
  const reasoning = receivedRequest.reasoning ?? {}
  demand(isObject(reasoning), 'Invalid type.', 'reasoning')
  return {
    steps: stepsOf(itemsOf(receivedRequest), { ...taste, model: String(receivedRequest.model) }),
    tools:
      receivedRequest.tools === undefined
        ? []
        : demandList(receivedRequest.tools, 'tools').flatMap((tool) => toolsOf(tool, taste.knows)),
    choice: choiceOf(receivedRequest.tool_choice),
    effort: reasoning.effort as string | undefined,
    schema: schemaOf(receivedRequest.text),
  }
}

interface Taster extends ResponsesTaste {
  /** Who is asked. */
  readonly model: string
}

function itemsOf({ input }: Fields): readonly Fields[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : demandList(input, 'input')
}

function toolsOf(tool: Fields, knows: ResponsesTaste['knows'], namespace?: string): ParsedTool[] {
  const { type, parameters } = tool
  demand(type === 'function' || knows === 'everything', `Invalid value: '${type}'.`, 'tools.type')
  const name = demandToolName(tool.name, 'tools.name')
  if (type === 'namespace') return demandList(tool.tools, 'tools').flatMap((each) => toolsOf(each, knows, name))
  if (type === 'custom') return [{ kind: type, name, namespace, parameters: {} }]
  demand(type === 'function' && isObject(parameters ?? {}), `Invalid value: '${type}'.`, 'tools.type')
  return [{ kind: type, name, namespace, parameters: isObject(parameters) ? parameters : {} }]
}

function choiceOf(choice: unknown = 'auto'): ParsedRequest['choice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  demand(isObject(choice), 'Invalid tool_choice.', 'tool_choice')
  return { name: demandText(choice.name, 'tool_choice.name') }
}

function schemaOf(text: unknown = {}): Fields | undefined {
  demand(isObject(text), 'Invalid type.', 'text')
  const { format = { type: 'text' } } = text
  demand(isObject(format), 'Invalid type.', 'text.format')
  if (format.type !== 'json_schema') return undefined
  demandToolName(format.name, 'text.format.name')
  demand(isObject(format.schema), 'Invalid schema.', 'text.format.schema')
  return format.schema
}

/** Every call has one result, every result its call; sealed reasoning is followed by what it led to. */
function stepsOf(items: readonly Fields[], taste: Taster): Step[] {
  demand(items.length > 0, 'There is no input.', 'input')
  const calls = new Map<string, { kind: string; name: string; isAnswered: boolean }>()
  const steps: Step[] = []
  for (const [index, item] of items.entries()) {
    const at = `input[${index}]`
    demand(!('id' in item), `Item with id '${item.id}' not found. Items are not persisted when store is false.`, at)
    const type = String(item.type ?? 'message')
    switch (type) {
      case 'message':
        steps.push(...messageOf(item, at))
        break
      case 'reasoning':
        checkReasoning(item, items[index + 1], taste, at)
        break
      case 'function_call':
      case 'custom_tool_call': {
        demand(type === 'function_call' || taste.knows === 'everything', `Invalid value: '${type}'.`, `${at}.type`)
        const id = demandText(item.call_id, `${at}.call_id`)
        demand(!calls.has(id), `Duplicate call_id ${id}.`, at)
        const named = { name: demandToolName(item.name, `${at}.name`), namespace: item.namespace as string | undefined }
        demand(named.namespace === undefined || taste.knows === 'everything', 'Unknown parameter.', `${at}.namespace`)
        const name = outputName(named)
        calls.set(id, { kind: type, name, isAnswered: false })
        steps.push({ from: 'call', name, text: demandText(item.arguments ?? item.input, at) })
        break
      }
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const id = demandText(item.call_id, `${at}.call_id`)
        const call = calls.get(id)
        demand(
          call?.kind === type.replace('_output', ''),
          `No tool call found for ${type} with call_id ${id}.`,
          'input',
        )
        demand(!call.isAnswered, `Duplicate output for call_id ${id}.`, at)
        call.isAnswered = true
        steps.push({ from: 'result', name: call.name, text: outputOf(item.output, at) })
        break
      }
      case TRIGGER:
        demand(taste.knows === 'everything', `Invalid value: '${type}'.`, `${at}.type`)
        demand(index === items.length - 1 && index > 0, 'Nothing comes after a trigger, and something before it.', at)
        break
      case 'compaction': {
        demand(taste.knows === 'everything', `Invalid value: '${type}'.`, `${at}.type`)
        const reported = taste.compactions.get(String(item.encrypted_content))
        demand(reported !== undefined, 'The encrypted content could not be verified.', at)
        steps.push(...reported)
        break
      }
      default:
        demand(false, `Invalid value: '${type}'.`, `${at}.type`)
    }
  }
  const open = [...calls].filter(([, { isAnswered }]) => !isAnswered).map(([id]) => id)
  demand(open.length === 0, `No tool output found for function call ${open[0]}.`, 'input')
  return steps
}

function messageOf({ role, content }: Fields, at: string): Step[] {
  const isOutput = role === 'assistant'
  demand(isOutput || ['user', 'system', 'developer'].includes(String(role)), `Invalid role: '${role}'.`, `${at}.role`)
  const text = textOf(content, isOutput ? 'output_text' : 'input_text', `${at}.content`)
  demand(text !== '' || !isOutput, 'A message says nothing.', `${at}.content`)
  if (role === 'user') return [{ from: 'user', text }]
  return isOutput ? [{ from: 'assistant', text }] : []
}

const outputOf = (output: unknown, at: string): string => textOf(output, 'input_text', `${at}.output`)

function textOf(content: unknown, kind: string, at: string): string {
  if (typeof content === 'string') return content
  return demandList(content, at)
    .map((part) => {
      demand(part.type === kind, `Invalid value: '${part.type}'. Supported values are: '${kind}'.`, at)
      return demandText(part.text, at)
    })
    .join('')
}

const LED_TO = new Set(['message', 'function_call', 'custom_tool_call', 'reasoning'])

function checkReasoning(item: Fields, next: Fields | undefined, { knows, seals, model }: Taster, at: string): void {
  const seal = item.encrypted_content
  if (knows === 'functions') {
    demand(seal === undefined, 'encrypted_content is not supported.', at)
    return
  }
  const isOwn = typeof seal === 'string' && seals.get(seal) === model
  demand(isOwn, 'The encrypted content could not be verified.', at, 'invalid_encrypted_content')
  demand(item.content === undefined, 'Reasoning has no content here.', `${at}.content`)
  demandList(item.summary, `${at}.summary`)
  const isFollowed =
    next !== undefined && LED_TO.has(String(next.type ?? 'message')) && (next.role ?? 'assistant') === 'assistant'
  demand(isFollowed, "Item of type 'reasoning' was provided without its required following item.", at)
}
