import * as argon2 from '@node-rs/argon2'
import { createQueue } from '../lib/async.ts'

/** argon2id as its authors recommend where memory is scarce: 19 MiB, two passes, one thread. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Each takes 19 MiB and one of the four threads that Node has for such work; files and names need the others. */
const AT_ONCE_MAX = 2
/** About half a second of waiting; twice as many where they are known. A flood of sign-ins is told to come back. */
const WAITING_MAX = 30

export interface Passwords {
  /** A PHC string, salted: no two are alike. */
  hash(password: string, who?: Waiter): Promise<string | 'busy'>
  /** Without a stored hash it takes as long as with one: nobody shall hear from the time whether an e-mail is known. */
  check(password: string, stored: string | undefined, who?: Waiter): Promise<'right' | 'wrong' | 'busy'>
  /** Made under other parameters than those of today. */
  isOutdated(stored: string): boolean
}

/** `known`: strangers cannot fill the line before it. By default nobody is. */
type Waiter = 'known' | 'stranger'

type Engine = Pick<typeof argon2, 'hash' | 'verify'>

/** What computes: on Node's own threads, so that the event loop goes on. */
export function createPasswords({ engine = argon2, waitingMax = WAITING_MAX }: PasswordOptions = {}): Passwords {
  const inTurn = createQueue(AT_ONCE_MAX)
  let wanted = 0

  const compute = async <Result>(who: Waiter, work: () => Promise<Result>): Promise<Result | 'busy'> => {
    if (wanted >= AT_ONCE_MAX + waitingMax * (who === 'known' ? 2 : 1)) return 'busy'
    wanted += 1
    try {
      return await inTurn(work)
    } finally {
      wanted -= 1
    }
  }

  const hash = (password: string, who: Waiter = 'stranger') =>
    compute(who, () => engine.hash(spelled(password), PARAMETERS))
  return {
    hash,
    async check(password, stored, who = 'stranger') {
      if (stored === undefined) return (await hash(password, who)) === 'busy' ? 'busy' : 'wrong'
      const matches = await compute(who, () => engine.verify(stored, spelled(password)))
      return matches === 'busy' ? 'busy' : matches ? 'right' : 'wrong'
    },
    isOutdated(stored) {
      const { memoryCost, timeCost, parallelism } = argon2.parseOptions(stored)
      const { memoryCost: memory, timeCost: time, parallelism: threads } = PARAMETERS
      return !stored.startsWith('$argon2id$') || memoryCost !== memory || timeCost !== time || parallelism !== threads
    },
  }
}

interface PasswordOptions {
  readonly engine?: Engine
  readonly waitingMax?: number
}

/** One keyboard writes an accented letter as one character, another as two. */
const spelled = (password: string): string => password.normalize('NFC')
