import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import { partLost } from './console-problem.ts'

/** A part of a page that is loaded when it is shown, such as a dialog. A missing file shows the console's own error. */
export const lazyPart = <Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> =>
  lazy(async () => ({
    default: await load().catch(() => {
      throw partLost()
    }),
  }))
