import { FAULTY_MODELS, HONEST_MODELS } from './scene.mjs'

const ABORTS = 0.05
const FAULTY = 0.08
const KEYED = 0.12
const TOOLS = 0.12
/** Each stands for a minute, until the server gives it up. */
const NEVER_READ = 0.003
/** More than the kernel takes for a client that reads nothing, which may be 4 MB on either side: about 9 MB of frames. */
const WORDS_NEVER_READ = 30_000
/** Covers the most of them. */
const TOKENS_MAX = 64_000

const PROMPTS = [
  { upTo: 0.5, bytes: 20 },
  { upTo: 0.85, bytes: 2_000 },
  { upTo: 0.98, bytes: 40_000 },
  { upTo: 0.998, bytes: 200_000 },
  { upTo: 1, bytes: 1_000_000 },
]
const ANSWERS = [
  { upTo: 0.15, words: 1, pace: 0 },
  { upTo: 0.85, words: 40, pace: 150 },
  { upTo: 0.97, words: 300, pace: 20 },
  { upTo: 1, words: 2_000, pace: 0 },
]
const FAULTS = ['cut', 'busy', 'broken']
const PARAMETERS = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }

/** One random request, its name in the count of kinds, and what its client does with it. */
export function planRequest(random, accounts) {
  const account = pickByShare(random, accounts)
  const protocol = random.chance(0.5) ? 'chat' : 'responses'
  const neverReads = random.chance(NEVER_READ) && account.email !== 'poor@localhost'
  const fault = !neverReads && random.chance(FAULTY) ? random.pick(FAULTS) : 'none'
  const model = random.pick(fault === 'none' ? HONEST_MODELS : FAULTY_MODELS)
  const isStream = neverReads || random.chance(0.7)
  const answer = neverReads ? { words: WORDS_NEVER_READ, pace: 0 } : size(random, ANSWERS)
  const tool = fault === 'none' && !neverReads && random.chance(TOOLS)
  const words = Math.max(
    1,
    Math.round(answer.words * random.between(0.5, neverReads ? 0.6 : 1.5) * (neverReads ? 2 : 1)),
  )
  const fill = 'z'.repeat(Math.round(size(random, PROMPTS).bytes * random.between(0.5, 1)))
  const emit = `[say words=${words} pace=${answer.pace} tool=${tool ? 1 : 0} fault=${fault}@${random.below(words)}]`
  const stored = protocol === 'responses' && random.chance(0.6)
  return {
    account,
    protocol,
    neverReads,
    fault,
    model,
    isStream,
    stored,
    kinds: kindsOf({ account, protocol, model, isStream, tool, stored, fault }),
    body: bodyOf({ protocol, model, isStream, stored, tool, content: `${fill} ${emit}` }),
    once: !neverReads && random.chance(KEYED) ? `soak-${random.below(2 ** 31)}-${random.below(2 ** 31)}` : undefined,
    abortAfterMs: !neverReads && random.chance(ABORTS) ? random.between(0, 4000) : undefined,
    /** What is done with a stored response afterwards. */
    afterwards: random.pick(['get', 'delete', 'continue']),
  }
}

function kindsOf({ account, protocol, model, isStream, tool, stored, fault }) {
  const route = model === protocol ? 'relayed' : 'translated'
  const lane = HONEST_MODELS.includes(model) ? route : model
  return [
    `${protocol} ${isStream ? 'stream' : 'json'} ${lane}`,
    `${account.kind} key`,
    ...(tool ? ['tool call'] : []),
    ...(stored ? ['stored'] : []),
    ...(fault === 'none' ? [] : [`provider ${fault}`]),
  ]
}

function bodyOf({ protocol, model, isStream, stored, tool, content }) {
  const look = { name: 'look', description: 'Looks.', parameters: PARAMETERS }
  if (protocol === 'responses') {
    const tools = tool ? { tools: [{ type: 'function', ...look }] } : {}
    return { model, input: content, stream: isStream, store: stored, max_output_tokens: TOKENS_MAX, ...tools }
  }
  const tools = tool ? { tools: [{ type: 'function', function: look }] } : {}
  const stream = isStream ? { stream: true, stream_options: { include_usage: true } } : {}
  return { model, messages: [{ role: 'user', content }], max_completion_tokens: TOKENS_MAX, ...stream, ...tools }
}

function size(random, table) {
  const luck = random.between(0, 1)
  return table.find(({ upTo }) => luck <= upTo)
}

function pickByShare(random, accounts) {
  let luck = random.between(0, 1)
  for (const account of accounts) {
    if (luck < account.share) return account
    luck -= account.share
  }
  return accounts[0]
}
