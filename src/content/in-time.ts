/** A disk that hangs must not hold the end of an answer for longer. */
const KEEP_WAIT_MS = 10_000

/** What is being kept, or a rejection when that takes too long. */
export async function inTime<Kept>(kept: Promise<Kept>, what: string): Promise<Kept> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not kept within ${KEEP_WAIT_MS} ms`)), KEEP_WAIT_MS)
  })
  try {
    return await Promise.race([kept, late])
  } finally {
    clearTimeout(timer)
    // One that fails after its time has nobody left to tell.
    kept.catch(() => {})
  }
}
