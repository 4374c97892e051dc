import * as argon2 from '@node-rs/argon2'
import { createQueue } from '../lib/async.ts'

/** argon2id as its authors recommend where memory is scarce: 19 MiB, two passes, one thread. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Each takes 19 MiB and one of Node's four worker threads; files and DNS need the others. */
const AT_ONCE_MAX = 2
/** About half a second of waiting; known people get twice as many. Beyond it sign-ins are refused as busy. */
const WAITING_MAX = 30

/** Stored for people without a password, who sign in by a provider. No hash is like it. */
export const NO_PASSWORD = 'none'

export interface Passwords {
  /** A salted PHC string. */
  hash(password: string, who?: Waiter): Promise<string | 'busy'>
  /** Takes as long without a stored hash, so that the time does not reveal whether an email is known. */
  check(password: string, stored: string | undefined, who?: Waiter): Promise<'right' | 'wrong' | 'busy'>
  /** Made with other parameters than the current ones. */
  isOutdated(stored: string): boolean
}

/** `known`: strangers cannot fill its queue. The default is `stranger`. */
type Waiter = 'known' | 'stranger'

type Engine = Pick<typeof argon2, 'hash' | 'verify'>

/** Computes on Node's worker threads, so that the event loop goes on. */
export function createPasswords({ engine = argon2, waitingMax = WAITING_MAX }: PasswordOptions = {}): Passwords {
  const enqueue = createQueue(AT_ONCE_MAX)
  let wanted = 0

  const compute = async <Result>(who: Waiter, work: () => Promise<Result>): Promise<Result | 'busy'> => {
    if (wanted >= AT_ONCE_MAX + waitingMax * (who === 'known' ? 2 : 1)) return 'busy'
    wanted += 1
    try {
      return await enqueue(work)
    } finally {
      wanted -= 1
    }
  }

  const hash = (password: string, who: Waiter = 'stranger') =>
    compute(who, () => engine.hash(normalized(password), PARAMETERS))
  return {
    hash,
    async check(password, stored, who = 'stranger') {
      if (stored === undefined || stored === NO_PASSWORD)
        return (await hash(password, who)) === 'busy' ? 'busy' : 'wrong'
      const matches = await compute(who, () => engine.verify(stored, normalized(password)))
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

/** Keyboards differ in writing an accented letter as one character or as two. */
const normalized = (password: string): string => password.normalize('NFC')
