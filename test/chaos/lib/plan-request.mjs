import { MODELS } from './scene.mjs'

const WORDS_MAX = 60
const PADS = ['', '', 'Please, now: ', 'é'.repeat(40), 'Slowly and with care, '.repeat(9)]
/** In mid-answer, or instead of one. */
const FAULTS = ['cut', 'error', 'hang', 'busy', 'refuse']
const FAULTS_INSIDE = ['cut', 'error', 'hang']

/** One random request: whose money, which model, how much, what goes wrong, and whether the client will hang up on it. */
export function planRequest(random, accounts) {
  const words = 1 + random.below(WORDS_MAX)
  const cap = random.chance(0.3) ? 1 + random.below(2 * WORDS_MAX) : undefined
  const account = pickByShare(random, accounts)
  const model = random.chance(0.02) ? 'no-such-model' : random.pick(MODELS).id
  const isKeyed = random.chance(0.3)
  const fault = isFar(model) && random.chance(0.4) ? planFault(random, Math.min(words, cap ?? words)) : undefined
  return {
    account: account.email,
    kind: account.kind,
    key: isKeyed ? account.keyedKey : random.pick(account.keys),
    run: random.chance(0.3) ? planRun(random) : undefined,
    ...(isKeyed ? { once: `once-${random.below(2 ** 31)}-${random.below(2 ** 31)}` } : {}),
    model,
    delivery: random.chance(0.7) ? 'stream' : 'json',
    content: `${random.pick(PADS)}${fault ? `[${fault.name} ${fault.at}] ` : ''}count to ${words}`,
    words,
    cap,
    fault,
    abort: random.chance(isKeyed ? 0.3 : 0.07) ? planAbort(random, words) : undefined,
  }
}

/** Bounds that shorten no answer: one that several requests reach, and one that none does. */
function planRun(random) {
  const run = random.below(12)
  return `run-${run}; ${run % 2 === 0 ? 'max_requests=4' : 'max=100'}`
}

const isFar = (model) => model === 'far' || model === 'backed'

function planFault(random, words) {
  const at = words > 1 && random.chance(0.6) ? 1 + random.below(words - 1) : 0
  return { name: random.pick(at > 0 ? FAULTS_INSIDE : FAULTS), at }
}

/** Where the fault shows: after content there is no other lane, and of a JSON answer nothing had come. */
export function faultSeen({ fault, model, delivery }) {
  if (!fault) return 'no'
  if (fault.at > 0 && delivery === 'stream') return 'inside'
  return model === 'far' ? 'before' : 'no'
}

const planAbort = (random, words) =>
  random.chance(0.5) ? { afterMs: random.between(0, 600) } : { afterWords: 1 + random.below(words) }

function pickByShare(random, accounts) {
  let left = random.between(0, 1)
  for (const account of accounts) {
    left -= account.share
    if (left < 0) return account
  }
  return accounts[0]
}

export const messagesOf = (sendTurn) => sendTurn.messages ?? [{ role: 'user', content: sendTurn.content }]

/** The words that a whole answer has: the demo counts, and stops at the cap. */
export const wordsOf = ({ words, cap }) => Math.min(words, cap ?? words)

export const textOf = (sendTurn) => Array.from({ length: wordsOf(sendTurn) }, (_, index) => index + 1).join(' ')
