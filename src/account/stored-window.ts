import type { z } from 'zod'
import type { window } from '../contract/plan.ts'
import { formatUsd } from '../model/money.ts'
import type { StoredWindow } from '../store/windows.ts'
import { isoTime } from './iso-time.ts'
import { windowId, windowName } from './window-id.ts'

export type WindowStanding = z.output<typeof window>

export const usedOf = ({ entered_nano, posted_nano }: StoredWindow): bigint => entered_nano - posted_nano

/** A window as the books have written it down: one that is over has nothing left, whatever has expired of it. */
export function storedWindow(stored: StoredWindow, requests: number | null): WindowStanding {
  const { subject, period_start: start, period_end: end, posted_nano, held_nano, granted_nano } = stored
  return {
    ...{ name: windowName(subject), opened: true, id: windowId({ subject, start }) },
    ...{ start: isoTime(start), end: isoTime(end), limit: formatUsd(granted_nano), used: formatUsd(usedOf(stored)) },
    ...{ held: formatUsd(held_nano), left: formatUsd(posted_nano - held_nano), requests },
  }
}
