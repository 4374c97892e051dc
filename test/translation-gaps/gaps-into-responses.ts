import type { ResponsesDialect } from '../../src/protocols/responses/dialects.ts'
import {
  customAsFunction,
  eachItem,
  eachMessage,
  eachTool,
  inTurn,
  isWords,
  type KnownLoss,
  text,
  withoutReasoning,
  wordsOf,
} from './known-gaps.ts'

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
    apply: dialect.nativeTools.includes('custom') ? inTurn() : customAsFunction(),
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
