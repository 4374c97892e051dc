import type { Fields } from '../../lib/is-object.ts'
import { type Conversation, type ConversationItem, isText, textOfParts, userMessage } from '../../model/conversation.ts'
import type { Protocol } from '../../model/turn.ts'
import { hasBias, isNamed, namesOfAsked } from '../asked-settings.ts'
import { clientName } from '../client-names.ts'
import { joinedWords } from '../joined-words.ts'
import type { LaneTarget, WrittenRequest } from '../lane-target.ts'
import { createToolNames } from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'
import { writeContents } from './write-contents.ts'
import { pleaForJson, writeFormat, writeSampling } from './write-settings.ts'
import { writeThinking } from './write-thinking.ts'
import { writeTools } from './write-tools.ts'

/** A conversation as the request of generateContent. Which model and whether to stream is said by the address. */
export function writeRequest(conversation: Conversation, target: LaneTarget<GeminiDialect>): WrittenRequest {
  const { dialect, outputCap, client } = target
  const { format, sampling } = conversation
  const names = createToolNames(conversation.tools, { custom: 'as-function', namespace: 'flat', begins: 'letter' })
  const { system, items } = partSystem(conversation, pleaForJson(format, dialect.traits))
  const inPlace = dialect.traits.systemPrompt
  const written = writeContents(inPlace || system === '' ? items : [userMessage(system), ...items], names, target)
  const chosen = writeSampling(sampling, target)
  const thinking = writeThinking(conversation, target)
  const { fields: tools, answerTool } = writeTools(conversation, names, dialect)
  const body: Fields = {
    ...(inPlace && system !== '' ? { systemInstruction: { parts: [{ text: system }] } } : {}),
    contents: written.contents,
    ...tools,
    generationConfig: {
      maxOutputTokens: outputCap,
      ...chosen.fields,
      ...writeFormat(format, dialect.traits),
      thinkingConfig: thinking.thinkingConfig,
    },
  }
  return {
    body,
    leftOut: [
      ...new Set([
        ...written.leftOut,
        ...chosen.leftOut,
        ...thinking.leftOut,
        ...withoutCounterpart(conversation, client),
      ]),
    ],
    tools: names,
    answerTool,
  }
}

/** Instructions stand before everything else: those that come first are told apart from the conversation. */
function partSystem({ instructions, items }: Conversation, pleas: readonly string[]): Parted {
  const leading = items.findIndex((item) => systemTextOf(item) === undefined)
  const first = leading === -1 ? items.length : leading
  const texts = [instructions, ...items.slice(0, first).map(systemTextOf), ...pleas]
  return {
    system: joinedWords(texts),
    items: items.slice(first),
  }
}

interface Parted {
  readonly system: string
  readonly items: readonly ConversationItem[]
}

/** Undefined for what is no instruction, or is more than text. */
function systemTextOf(item: ConversationItem): string | undefined {
  if (item.type !== 'message' || (item.role !== 'system' && item.role !== 'developer')) return undefined
  return item.content.every(isText) ? textOfParts(item.content, '\n') : undefined
}

function withoutCounterpart(conversation: Conversation, client: Protocol): readonly string[] {
  const { sampling, identity, verbosity, parallelToolCalls, tools, items } = conversation
  return namesOfAsked([
    ['logit_bias', hasBias(sampling)],
    ['parallel_tool_calls', parallelToolCalls === false && tools.length > 0],
    [clientName('verbosity', client), verbosity !== undefined],
    [clientName('messageName', client), items.some(isNamed)],
    ['user', identity.user !== undefined],
    ['safety_identifier', identity.safetyIdentifier !== undefined],
    ['prompt_cache_key', identity.promptCacheKey !== undefined],
  ])
}
