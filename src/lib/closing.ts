/**
 * What opens registers here how it closes, on the next line; everything is closed in reverse order, once, and one
 * failure does not keep the rest open.
 */
export interface Closing {
  add(close: () => void | Promise<void>): void
  close(): Promise<void>
}

export function createClosing(): Closing {
  const steps: (() => void | Promise<void>)[] = []
  return {
    add: (step) => {
      steps.push(step)
    },
    async close() {
      const failures: unknown[] = []
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'closing did not go through')
    },
  }
}
