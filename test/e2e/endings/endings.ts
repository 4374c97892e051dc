import { CLIENT_ENDINGS } from './client-endings.ts'
import { COMPACTION_ENDINGS } from './compaction-endings.ts'
import type { Ending } from './ending.ts'
import { PROVIDER_ENDINGS } from './provider-endings.ts'
import { CHANGED_ENDINGS, CUT_ENDINGS, REFUSED_ENDINGS } from './server-endings.ts'

/** Every way in which a request can end, but for those in which the process dies: these are in `deaths.ts`. */
export const ENDINGS: readonly Ending[] = [
  ...PROVIDER_ENDINGS,
  ...CLIENT_ENDINGS,
  ...CUT_ENDINGS,
  ...REFUSED_ENDINGS,
  ...CHANGED_ENDINGS,
  ...COMPACTION_ENDINGS,
]
