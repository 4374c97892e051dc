export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A process that has nothing else to do ends meanwhile. */
export const pauseIdly = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())
