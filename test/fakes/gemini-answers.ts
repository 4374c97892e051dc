import type { Fields } from '../../src/lib/types.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import { hearContents, placeOf, type SignedPart } from './gemini-requests.ts'
import {
  type Counted,
  type Mind,
  POLITE,
  reasoningTokens,
  type SaidCall,
  type Saying,
  spokenName,
} from './polite-model.ts'
import { mannerOf, strictly } from './strict-request.ts'
import type { Talk } from './answers.ts'

/**
 * A provider that speaks generateContent: it signs the first of its calls, and does not go on without that signature; what it
 * has thought it tells as parts of their own.
 */
export function geminiTalk({ name = 'fake', signatures = new Map(), mind = POLITE }: Signer = {}): Script {
  let signed = 0
  return strictly(async (talk) => {
    const hearing = hearContents(talk.asked, { signatures })
    const saying = mind.sayingOf(hearing)
    const { thoughts, words, calls } = saying
    const usageMetadata = usageOf(mind.countsOf(talk.asked, hearing, saying), saying)
    const sign = (part: Fields): Fields => {
      const thoughtSignature = `signed-by-${name}-${signed++}`
      signatures.set(thoughtSignature, { model: talk.model, place: placeOf(part) })
      return { ...part, thoughtSignature }
    }
    const head = { modelVersion: talk.model, responseId: 'fake' }
    const say = (parts: readonly Fields[], more: Fields = {}) =>
      talk.frames({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }], usageMetadata, ...head })
    await talk.head()
    for (const text of thoughts) await say([{ text, thought: true }])
    for (const [at, text] of words.entries()) {
      if (at === 2 && (await endsEarly(talk))) return
      await say([{ text }])
    }
    const called = calls.map((call, at) => (at === 0 ? sign(partOf(call)) : partOf(call)))
    if (called.length > 0) await say(called)
    await say([calls.length === 0 ? sign({ text: '' }) : { text: '' }], { finishReason: 'STOP' })
    await talk.end()
  }, contentsRefusal)
}

interface Signer {
  /** Shows in its signatures. */
  readonly name?: string
  /** What it has signed; who takes something out has it forgotten. */
  readonly signatures?: Map<string, SignedPart>
  readonly mind?: Mind
}

const partOf = (call: SaidCall): Fields => ({
  functionCall: { name: spokenName(call), args: JSON.parse(call.text) },
})

function usageOf(counted: Counted, saying: Saying): Fields {
  const { input, cached, output } = counted
  const thoughtsTokenCount = reasoningTokens(counted, saying)
  return {
    promptTokenCount: input,
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    candidatesTokenCount: output - thoughtsTokenCount,
    thoughtsTokenCount,
    totalTokenCount: input + output,
  }
}

/** How this provider says that a request is not right. */
const contentsRefusal = (message: string): object => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } })

async function endsEarly(talk: Talk): Promise<boolean> {
  const manner = mannerOf(talk)
  if (manner === 'whole') return false
  await delivered()
  if (manner === 'breaks') {
    await talk.frames({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } })
    await talk.end()
  }
  if (manner === 'resets') talk.reset()
  return true
}
