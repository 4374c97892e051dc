import { describeColumn } from './describe-column.ts'

describeColumn('chat stream over a responses lane')
