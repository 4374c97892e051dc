import * as argon2 from '@node-rs/argon2'
import { createQueue } from '../lib/take-turns.ts'

/** argon2id as its authors recommend where memory is scarce: 19 MiB, two passes, one thread. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Each takes 19 MiB and one of the four threads that Node has for such work; files and names need the others. */
const AT_ONCE_MAX = 2
/** About half a second of waiting. A flood of sign-ins is told to come back instead of being kept. */
const WAITING_MAX = 30

export interface Passwords {
  /** A PHC string, salted: no two are alike. */
  hash(password: string): Promise<string | 'busy'>
  /** Without a stored hash it takes as long as with one: nobody shall hear from the time whether an e-mail is known. */
  check(password: string, stored: string | undefined): Promise<'right' | 'wrong' | 'busy'>
  /** Made under other parameters than those of today. */
  isOutdated(stored: string): boolean
}

type Engine = Pick<typeof argon2, 'hash' | 'verify'>

/** What computes: on Node's own threads, so that the event loop goes on. */
export function createPasswords({ engine = argon2, waitingMax = WAITING_MAX }: PasswordOptions = {}): Passwords {
  const inTurn = createQueue(AT_ONCE_MAX)
  let wanted = 0

  const compute = async <Result>(work: () => Promise<Result>): Promise<Result | 'busy'> => {
    if (wanted >= AT_ONCE_MAX + waitingMax) return 'busy'
    wanted += 1
    try {
      return await inTurn(work)
    } finally {
      wanted -= 1
    }
  }

  const hash = (password: string) => compute(() => engine.hash(spelled(password), PARAMETERS))
  return {
    hash,
    async check(password, stored) {
      if (stored === undefined) return (await hash(password)) === 'busy' ? 'busy' : 'wrong'
      const matches = await compute(() => engine.verify(stored, spelled(password)))
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
