import { describeColumn } from './describe-column.ts'

describeColumn('chat JSON over a responses lane')
