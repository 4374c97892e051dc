import type { Dice, EncodedFrame, Json } from './dice.ts'
import { wordsOf } from './values.ts'

/** An answer as streamGenerateContent gives it: no names, no last mark, every chunk a response of its own. */
export function geminiFrames(dice: Dice): EncodedFrame[] {
  const { pick, onceIn, between } = dice
  const usageMetadata = () => ({
    promptTokenCount: between(0, 90),
    candidatesTokenCount: between(0, 40),
    totalTokenCount: 100,
    ...(onceIn(2) ? { thoughtsTokenCount: between(0, 40) } : {}),
    ...(onceIn(3) ? { cachedContentTokenCount: between(0, 99), toolUsePromptTokenCount: between(0, 9) } : {}),
  })
  const signed = () => (onceIn(3) ? { thoughtSignature: 'AbC=' } : {})
  const call = (): Json => {
    const named = { ...(onceIn(2) ? { id: 'theirs' } : {}), name: pick(['look', 'own', 'look', '']) }
    const args = pick<Json>([{ args: { city: 'Oslo' } }, { args: {} }, {}, { args: wordsOf(dice) }])
    return { functionCall: { ...named, ...args }, ...signed() }
  }
  const partial = (): Json => ({
    functionCall: {
      ...(onceIn(2) ? { name: 'look' } : {}),
      partialArgs: [{ jsonPath: '$.city', stringValue: wordsOf(dice), willContinue: onceIn(2) }],
      willContinue: onceIn(2),
    },
  })
  const part = (): Json =>
    pick<() => Json>([
      () => ({ text: wordsOf(dice), ...signed() }),
      () => ({ text: wordsOf(dice) }),
      () => ({ text: wordsOf(dice) }),
      () => ({ text: wordsOf(dice), thought: true }),
      () => ({ text: '', thoughtSignature: 'Ag==' }),
      call,
      call,
      () =>
        onceIn(3)
          ? partial()
          : pick<Json>([
              { inlineData: { mimeType: 'image/png', data: 'AA==' } },
              { executableCode: { code: '1' } },
              {},
            ]),
    ])()
  const text = (): Json => ({ text: wordsOf(dice) })
  const chunk = (parts: readonly Json[], candidate: Json = {}): EncodedFrame => ({
    emitted: {
      candidates: [
        { content: { role: 'model', parts }, index: 0, ...candidate },
        ...(onceIn(20) ? [{ content: { parts: [text()] }, index: 1 }] : []),
      ],
      ...(onceIn(4) ? {} : { usageMetadata: usageMetadata() }),
      modelVersion: 'g',
      responseId: 'r1',
    },
  })
  const of = onceIn(2) ? text : part
  const chunks = Array.from({ length: between(0, 8) }, () =>
    chunk(Array.from({ length: onceIn(3) ? between(0, 3) : 1 }, of)),
  )
  const reason = onceIn(4)
    ? pick([
        'MAX_TOKENS',
        'SAFETY',
        'RECITATION',
        'MALFORMED_FUNCTION_CALL',
        'UNEXPECTED_TOOL_CALL',
        'OTHER',
        'CONTINUATION',
        'NOBODY',
      ])
    : 'STOP'
  if (onceIn(25)) return [{ emitted: { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: usageMetadata() } }]
  return [...chunks, chunk(onceIn(2) ? [] : [part()], { finishReason: reason })]
}
