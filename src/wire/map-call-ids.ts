import { createHash } from 'node:crypto'

/** The ids of a request's calls as its server takes them. The same request gives the same ones, and so does a longer one. */
export interface CallIds {
  /** Of one more call: no two have the same, though some providers give the same to calls of different turns. */
  take(callId: string): string
}

const LENGTH_MAX = 64
const HASH_LENGTH = 12

/** Characters that match `foreign` are none of the server's. */
export function mapCallIds(foreign?: RegExp): CallIds {
  const taken = new Set<string>()
  /** How often an id was met: whoever sends the same one ten thousand times shall not have us try ten thousand names each time. */
  const met = new Map<string, number>()
  return {
    take(callId) {
      let again = met.get(callId) ?? 1
      let id = isUsable(callId) ? (foreign === undefined ? callId : callId.replace(foreign, '_')) : hashedId(callId)
      while (taken.has(id)) id = hashedId(`${++again} ${callId}`)
      met.set(callId, again)
      taken.add(id)
      return id
    },
  }
}

const isUsable = (callId: string): boolean => callId !== '' && callId.length <= LENGTH_MAX

const hashedId = (text: string): string =>
  `call_${createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)}`
