import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import {
  call,
  conversationOf,
  message,
  reasoning,
  requestOf,
  result,
  written,
} from '../../../test/fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'
import type {
  AnswerFormat,
  ContentPart,
  Conversation,
  ConversationItem,
  ToolChoice,
  ToolDefinition,
} from '../../model/conversation.ts'

/**
 * Random conversations beside what must be left of them once chat has carried them. Every difference between the two is a
 * loss, and each is named here where it is made.
 */
interface Pair {
  readonly sent: ConversationItem[]
  readonly left: ConversationItem[]
}

type Random = (below: number) => number
type Dialect = 'openai' | 'deepseek'

const WORDS = ['a', 'é漢', '"\\\n', '\u{1f600}', 'aborted', '{"input":"x"}', '   ']
const word = (random: Random) => WORDS[random(WORDS.length)]!
const textPart = (text: string): ContentPart => ({ type: 'text', text })

function outputText(random: Random, pair: Pair, dialect: Dialect): void {
  const role = (['user', 'system', 'developer'] as const)[random(3)]!
  const image: ContentPart = {
    type: 'image',
    url: `https://a/${word(random).trim()}`,
    detail: random(2) ? 'low' : undefined,
  }
  const content = [textPart(word(random)), ...(random(2) ? [textPart(word(random))] : [])]
  if (role === 'user') {
    const emitted = { ...message(role, random(3) ? content : [...content, image]), name: random(4) ? undefined : 'ann' }
    pair.sent.push(emitted as ConversationItem)
    pair.left.push(emitted as ConversationItem)
    return
  }
  pair.sent.push(message(role, content))
  // Several texts of a system message become one; a server without developers takes them for the system's.
  const known = dialect === 'openai' ? role : 'system'
  pair.left.push(message(known, content.map((part) => (part as { text: string }).text).join('\n')))
}

/** What an assistant thinks, says and calls in any order becomes: its reasoning, one message, its calls, their results. */
function answered(random: Random, pair: Pair, dialect: Dialect, ids: () => string): void {
  const sent: ConversationItem[] = []
  const thoughts: string[] = []
  const texts: string[] = []
  const refusals: string[] = []
  const calls: ConversationItem[] = []
  const results: ConversationItem[] = []
  const answers: ConversationItem[] = []
  for (let count = 1 + random(5); count > 0; count--) {
    switch (random(4)) {
      case 0: {
        const [text, summary] = [random(2) ? word(random) : '', [word(random), word(random)]]
        sent.push(reasoning(text, summary))
        // Of reasoning the summary is lost where there is a text; sealed reasoning is lost anyway.
        thoughts.push(text === '' ? summary.join('\n\n') : text)
        break
      }
      case 1: {
        const [text, refusal] = [word(random), random(4) ? undefined : word(random)]
        const parts = [textPart(text), ...(refusal === undefined ? [] : [{ type: 'refusal' as const, text: refusal }])]
        // The phase is lost.
        sent.push({ ...message('assistant', parts), phase: 'commentary' } as ConversationItem)
        if (dialect === 'openai') {
          texts.push(text)
          if (refusal !== undefined) refusals.push(refusal)
        } else texts.push(...[text, ...(refusal === undefined ? [] : [refusal])])
        break
      }
      default: {
        const callId = ids()
        const tool = random(2) ? 'function' : 'custom'
        const name = tool === 'function' ? 'look' : 'patch'
        const emitted = { tool, name, namespace: random(2) ? 'agents' : undefined, text: word(random) } as const
        sent.push(call(callId, emitted))
        calls.push(call(callId, leftOfCall(emitted, dialect)))
        const parts = [textPart(word(random)), textPart(word(random))]
        const isMissing = random(5) === 0
        if (!isMissing)
          results.splice(random(results.length + 1), 0, { ...(result(callId, parts) as object), tool } as never)
        const text = isMissing ? 'aborted' : parts.map((part) => (part as { text: string }).text).join('\n')
        answers.push({ ...result(callId, text), tool: leftOfCall(emitted, dialect).tool } as ConversationItem)
      }
    }
  }
  const isEmitted = calls.length + texts.length > 0
  // Reasoning that led to nothing belongs to no message.
  if (isEmitted && dialect === 'deepseek' && thoughts.length > 0) {
    while (sent.at(-1)?.type === 'reasoning') {
      sent.pop()
      thoughts.pop()
    }
    if (thoughts.length > 0) pair.left.push(reasoning(thoughts.join('\n\n')))
  }
  if (texts.length > 0) {
    const refused: ContentPart[] = refusals.length > 0 ? [{ type: 'refusal', text: refusals.join('\n\n') }] : []
    pair.left.push(message('assistant', [textPart(texts.join('\n\n')), ...refused]))
  }
  pair.left.push(...calls, ...answers)
  pair.sent.push(...sent, ...results)
}

/** A namespace is flattened into the name, and where custom tools are not known, a call is a function's with its input in JSON. */
function leftOfCall(emitted: SentCall, dialect: Dialect) {
  const name = emitted.namespace === undefined ? emitted.name : `${emitted.namespace}__${emitted.name}`
  const plain = { name, namespace: undefined }
  if (emitted.tool === 'function' || dialect === 'openai') return { ...plain, tool: emitted.tool, text: emitted.text }
  return { ...plain, tool: 'function' as const, text: JSON.stringify({ input: emitted.text }) }
}

type SentCall = Pick<Extract<ConversationItem, { type: 'tool-call' }>, 'tool' | 'name' | 'namespace' | 'text'>

function randomPair(random: Random, dialect: Dialect): Pair {
  const pair: Pair = { sent: [], left: [] }
  let calls = 0
  for (let turns = 1 + random(4); turns > 0; turns--) {
    outputText(random, pair, dialect)
    answered(random, pair, dialect, () => `call_${calls++}`)
  }
  outputText(random, pair, dialect)
  return pair
}

const throughChat = (conversation: Conversation, dialect: Dialect): Conversation =>
  conversationIn(requestOf(written(conversation, dialect).body))

it.each(['openai', 'deepseek'] as const)('items that chat has carried to %s lose only what is known', (dialect) => {
  const seed = 31
  const random = randomFrom(seed)
  let items = 0
  for (let round = 0; round < 500; round++) {
    const { sent, left } = randomPair(random, dialect)
    expect(throughChat(conversationOf(sent), dialect).items, `seed ${seed}, round ${round}`).toEqual(left)
    items += sent.length
  }
  console.log(`round trip over ${dialect}: seed ${seed}, 500 conversations, ${items} items`)
  expect(items).toBeGreaterThan(3000)
})

it('a second pass through chat loses nothing', () => {
  const random = randomFrom(47)
  for (let round = 0; round < 300; round++) {
    const once = throughChat(conversationOf(randomPair(random, 'openai').sent), 'openai')
    expect(throughChat(once, 'openai')).toEqual(once)
  }
})

it('settings and tools come back, except those that chat cannot express', () => {
  const random = randomFrom(53)
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)]!
  const name = { name: 'look', namespace: undefined, tool: 'function' } as const
  const choices: (ToolChoice | undefined)[] = [
    ...[undefined, { type: 'auto' } as const, { type: 'none' } as const, { type: 'required' } as const],
    ...[{ type: 'tool', ...name } as const, { type: 'allowed', mode: 'auto', tools: [name] } as const],
  ]
  const schema = { type: 'json_schema', name: 'n', description: 'd', schema: { type: 'object' }, strict: true } as const
  const formats: (AnswerFormat | undefined)[] = [undefined, { type: 'json_object' }, schema]
  const grammar = { syntax: 'lark', definition: 'x' }
  const tools: ToolDefinition[] = [
    { type: 'function', ...{ name: 'look', namespace: undefined, description: 'd', parameters: {} }, strict: false },
    { type: 'custom', name: 'patch', namespace: undefined, description: undefined, grammar },
  ]
  for (let round = 0; round < 300; round++) {
    const conversation = conversationOf([message('user', 'q')], {
      tools,
      toolChoice: pick(choices),
      parallelToolCalls: pick([undefined, true, false]),
      format: pick(formats),
      verbosity: pick([undefined, 'low']),
      sampling: {
        temperature: pick([undefined, 0, 1.5]),
        topP: pick([undefined, 0, 0.5]),
        presencePenalty: pick([undefined, -2, 0]),
        frequencyPenalty: pick([undefined, 2, 0]),
        stop: pick([[], ['a'], ['a', 'b']]),
        seed: pick([undefined, 0, 42]),
        logitBias: pick([undefined, { 5: 1 }]),
        topLogprobs: pick([undefined, 0, 5]),
      },
      identity: {
        user: pick([undefined, 'u']),
        safetyIdentifier: pick([undefined, 's']),
        promptCacheKey: pick([undefined, 'k']),
      },
    })
    expect(throughChat(conversation, 'openai')).toEqual(conversation)
  }
})

it('lost are: that instructions are none of the messages, a wish for plain text, and how reasoning shall be told', () => {
  const sent = conversationOf([message('user', 'q')], {
    instructions: 'i',
    format: { type: 'text' },
    reasoning: { summary: 'auto' },
  })
  expect(throughChat(sent, 'openai')).toEqual(conversationOf([message('developer', 'i'), message('user', 'q')]))
})
