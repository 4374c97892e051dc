import type { Fields } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import { parseContents, placeOf, type SignedPart } from './gemini-requests.ts'
import {
  type Counted,
  type ModelState,
  type OutputCall,
  outputName,
  POLITE,
  reasoningTokens,
  type Saying,
} from './polite-model.ts'
import { modeOf, strictly } from './strict-request.ts'

/**
 * A provider that speaks generateContent: it signs the first of its calls, and does not go on without that signature; what it
 * has thought it tells as parts of their own.
 */
export function geminiAnswer({ name = 'fake', signatures = new Map(), modelState = POLITE }: Signer = {}): Script {
  let signed = 0
  return strictly(async (providerAnswer) => {
    const parsedRequest = parseContents(providerAnswer.receivedRequest, { signatures })
    const saying = modelState.sayingOf(parsedRequest)
    const { thoughts, words, calls } = saying
    const usageMetadata = usageOf(modelState.countsOf(providerAnswer.receivedRequest, parsedRequest, saying), saying)
    const sign = (part: Fields): Fields => {
      const thoughtSignature = `signed-by-${name}-${signed++}`
      signatures.set(thoughtSignature, { model: providerAnswer.model, place: placeOf(part) })
      return { ...part, thoughtSignature }
    }
    const head = { modelVersion: providerAnswer.model, responseId: 'fake' }
    const emit = (parts: readonly Fields[], more: Fields = {}) =>
      providerAnswer.frames({
        candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
        usageMetadata,
        ...head,
      })
    await providerAnswer.head()
    for (const text of thoughts) await emit([{ text, thought: true }])
    for (const [at, text] of words.entries()) {
      if (at === 2 && (await endsEarly(providerAnswer))) return
      await emit([{ text }])
    }
    const called = calls.map((call, at) => (at === 0 ? sign(partOf(call)) : partOf(call)))
    if (called.length > 0) await emit(called)
    await emit([calls.length === 0 ? sign({ text: '' }) : { text: '' }], { finishReason: 'STOP' })
    await providerAnswer.end()
  }, contentsRefusal)
}

interface Signer {
  /** Shows in its signatures. */
  readonly name?: string
  /** What it has signed; who takes something out has it forgotten. */
  readonly signatures?: Map<string, SignedPart>
  readonly modelState?: ModelState
}

const partOf = (call: OutputCall): Fields => ({
  functionCall: { name: outputName(call), args: JSON.parse(call.text) },
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

async function endsEarly(providerAnswer: ProviderAnswer): Promise<boolean> {
  const mode = modeOf(providerAnswer)
  if (mode === 'whole') return false
  await delivered()
  if (mode === 'breaks') {
    await providerAnswer.frames({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } })
    await providerAnswer.end()
  }
  if (mode === 'resets') providerAnswer.reset()
  return true
}
