// Package storetest proves that a store keeps what the service's packages ask
// of one. Every store runs the same suite: it is written against the
// interfaces alone, and says nothing of how rows are kept. What only one
// store has, such as its files and migrations, is tested beside that store.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/resource/sessions"
	"ql/internal/store"

	"github.com/google/go-cmp/cmp"
)

// Stores is the store under test.
type Stores = store.Store

// Run runs the whole suite. open returns an empty store that lives until the
// end of the test it is given.
func Run(t *testing.T, open func(t *testing.T) Stores) {
	run(t, open, func(string) bool { return true })
}

// some are tests that reach each kind of statement: reads, changes, races, many rows and few, large contents.
var some = []string{
	"accounts/create", "accounts/race for a name", "accounts/rotation", "audit/chain", "files/usage", "files/quota", "shares/race", "members", "queue/accept", "queue/claim",
	"queue/race of claims", "queue/every transition", "queue/restart", "queue/answers", "sessions/rows", "sessions/one after other",
}

// RunSome runs a part of the suite, for one more way to a store that has passed all of it.
func RunSome(t *testing.T, open func(t *testing.T) Stores) {
	run(t, open, func(name string) bool { return slices.Contains(some, name) })
}

func run(t *testing.T, open func(t *testing.T) Stores, wanted func(name string) bool) {
	for name, test := range map[string]func(*testing.T, Stores){
		"accounts/create":           testCreate,
		"accounts/names":            testNames,
		"accounts/list":             testList,
		"accounts/credentials":      testCredentials,
		"accounts/settings":         testSettings,
		"accounts/delete":           testDelete,
		"accounts/tombstones":       testTombstones,
		"accounts/purge":            testPurge,
		"accounts/invitations":      testInvitations,
		"accounts/missing":          testMissingAccount,
		"accounts/race for a name":  testNameRace,
		"accounts/race for rehash":  testRehashRace,
		"accounts/rotation":         testRotationAgainstLookup,
		"accounts/versions":         testAccountVersions,
		"accounts/master check":     testKeepCheck,
		"audit/acts":                testAuditActs,
		"audit/chain":               testAuditChain,
		"audit/prune":               testAuditPrune,
		"audit/deleted":             testAuditDeleted,
		"audit/race":                testAuditRace,
		"keys/rows":                 testNamedKeys,
		"keys/uses":                 testNamedKeyUses,
		"keys/race":                 testNamedKeyRace,
		"keys/revocation":           testRevocationAgainstLookup,
		"databases/homes":           testHomes,
		"databases/parts":           testShippedParts,
		"domains/entries":           testDomains,
		"domains/overlap":           testDomainOverlap,
		"domains/race":              testDomainRace,
		"domains/requests":          testRequestedDomains,
		"site domains/rows":         testSiteDomains,
		"site domains/checks":       testSiteDomainChecks,
		"site domains/race":         testSiteDomainRace,
		"site domains/orders":       testCertificateOrders,
		"published/versions":        testPublished,
		"published/hashes":          testPublishedHashes,
		"published/switches":        testPublishedSwitches,
		"published/bounds":          testPublishedBounds,
		"published/list":            testPublishedList,
		"published/sweep":           testPublishedSweep,
		"published/race":            testPublishedRace,
		"published/purge":           testPublishedPurge,
		"secrets":                   testSecrets,
		"machines":                  testMachines,
		"webhook secrets":           testWebhookSecrets,
		"webhook secrets/race":      testWebhookSecretRace,
		"jobs/records":              testJobs,
		"jobs/at once":              testJobsAtOnce,
		"jobs/list":                 testJobList,
		"jobs/filters":              testJobFilters,
		"jobs/changes":              testJobChanges,
		"jobs/forget":               testJobForget,
		"jobs/calls":                testCalls,
		"jobs/sources":              testSourcesKept,
		"jobs/histories":            testHistories,
		"jobs/kept":                 testKept,
		"jobs/trim":                 testTrim,
		"jobs/trim many":            testTrimMany,
		"jobs/race to trim":         testTrimRace,
		"jobs/trim leaves":          testTrimLeaves,
		"jobs/left out":             testJobsLeftOut,
		"jobs/recorder":             testRecorder,
		"sessions/rows":             testSessionRows,
		"sessions/expiry":           testSessionExpiry,
		"sessions/one after other":  testSessionOrder,
		"sessions/race for version": testSessionRace,
		"shares/hidden":             testHiddenLinks,
		"buckets":                   testBuckets,
		"sign-ins/rows":             testSignIns,
		"sign-ins/ends":             testSignInEnds,
		"sign-ins/bounds":           testSignInBounds,
		"sign-ins/race":             testSignInRace,
		"files/usage":               testFileUsage,
		"files/quota":               testFileQuota,
		"files/children":            testChildren,
		"files/stat":                testStat,
		"files/site owners":         testSiteOwners,
		"files/list holds a page":   testListHoldsAPage,
		"files/race":                testFileRace,
		"files/growing":             testGrowingFile,
		"files/blobs":               testBlobs,
		"files/dead":                testDead,
		"files/reclaim":             testReclaim,
		"files/dead after restarts": testDeadAcrossRestarts,
		"files/failed writes":       testFailedWrites,
		"files/sweep race":          testSweepRace,
		"files/blob deletion":       testBlobDeletion,
		"files/late deletion":       testLateDeletion,
		"files/damaged blobs":       testDamagedBlobs,
		"files/upload":              testUpload,
		"files/content":             testContent,
		"files/damaged content":     testDamagedContent,
		"files/uploads refused":     testUploadsRefused,
		"files/upload conditions":   testUploadConditions,
		"files/upload room":         testUploadRoom,
		"files/upload sweeps":       testUploadSweeps,
		"sites/deploy":              testSiteDeploy,
		"sites/content":             testSiteContent,
		"sites/kept":                testSiteKept,
		"sites/usage":               testSiteUsage,
		"sites/conditions":          testSiteConditions,
		"sites/views":               testSiteViews,
		"sites/purge":               testSitePurge,
		"shares/links":              testShares,
		"shares/restart":            testShareRestart,
		"shares/unlimited":          testShareUnlimited,
		"shares/bounds":             testShareBounds,
		"shares/race for bounds":    testShareBoundRace,
		"shares/content":            testShareContent,
		"shares/empty":              testShareEmpty,
		"shares/race":               testShareRace,
		"shares/checkpoint":         testShareCheckpoint,
		"members":                   testMembers,
		"queue/accept":              testQueueAccept,
		"queue/untraced":            testQueueUntraced,
		"queue/adopt":               testQueueAdopt,
		"queue/room to stand":       testQueueRoomToStand,
		"queue/bytes to stand":      testQueueBytesToStand,
		"queue/race for room":       testQueueRoomRace,
		"queue/programs":            testQueuePrograms,
		"queue/view":                testQueueView,
		"queue/look at many words":  testQueueLookManyWords,
		"queue/load":                testQueueLoad,
		"queue/times":               testQueueTimes,
		"queue/no expiry":           testQueueNoExpiry,
		"queue/transitions":         testQueueTransitions,
		"queue/every transition":    testQueueEveryTransition,
		"queue/drawn transitions":   testQueueDrawnTransitions,
		"queue/rounds":              testQueueRounds,
		"queue/due":                 testQueueDue,
		"queue/claim":               testQueueClaim,
		"queue/claim kinds":         testQueueClaimKinds,
		"queue/claim databases":     testQueueDatabases,
		"queue/race of claims":      testQueueClaimRace,
		"queue/held":                testQueueHeld,
		"queue/files":               testQueueFiles,
		"queue/files room":          testQueueFilesRoom,
		"queue/files of sites":      testQueueFilesOfSites,
		"queue/stopping":            testQueueStopping,
		"queue/postpone":            testQueuePostpone,
		"queue/restart":             testQueueRestart,
		"queue/prune":               testQueuePrune,
		"queue/keys":                testQueueKeys,
		"queue/keys of callers":     testQueueKeyCallers,
		"queue/race for a key":      testQueueKeyRace,
		"queue/answers":             testQueueAnswers,
		"queue/race of answers":     testQueueAnswerRace,
		"calls/rows":                testScriptCalls,
		"calls/ended":               testEndedCalls,
		"calls/child end":           testChildEnd,
		"calls/awaited":             testAwaitedJobs,
		"calls/tree":                testStoppedTree,
		"calls/race":                testCallRace,
		"signals/rows":              testSignals,
		"signals/awaited":           testAwaitedSignals,
		"signals/bounds":            testSignalBounds,
		"signals/repeats":           testSignalRepeats,
		"signals/race":              testSignalRace,
		"questions/states":          testQuestionStates,
		"questions/list":            testQuestionList,
		"questions/next":            testNextQuestion,
		"questions/race":            testQuestionRace,
		"questions/webhooks":        testQuestionWebhooks,
		"queue/race for a job":      testQueueTakeRace,
		"queue/cancel":              testQueueCancel,
		"queue/finish":              testQueueFinish,
		"queue/accept ended":        testQueueAcceptEnded,
		"queue/accept crowd":        testQueueAcceptCrowd,
		"queue/finish crowd":        testQueueFinishCrowd,
		"queue/brought":             testQueueBrought,
		"queue/crashes":             testQueueCrashes,
		"queue/head":                testQueueHead,
		"queue/count":               testQueueCount,
		"queue/give up":             testQueueGiveUp,
		"queue/forget":              testQueueForget,
		"queue/removal":             testQueueRemoval,
		"queue/checkpoints":         testCheckpoints,
		"queue/checkpoint crowd":    testCheckpointCrowd,
		"queue/concurrency":         testConcurrency,
		"queue/race for permits":    testConcurrencyRace,
		"schedules/rows":            testSchedules,
		"schedules/settle":          testSettle,
		"schedules/overlap":         testScheduleOverlap,
		"schedules/failures":        testScheduleFailures,
		"schedules/race":            testSettleRace,
		"schedules/purge":           testSchedulePurge,
		"deliveries/rows":           testDeliveries,
		"deliveries/list":           testDeliveryList,
		"deliveries/due":            testDeliveryDue,
		"deliveries/turns":          testDeliveryTurns,
		"deliveries/count":          testDeliveryCount,
		"deliveries/settle":         testDeliverySettle,
		"deliveries/repeat":         testDeliveryRepeat,
		"deliveries/forget":         testDeliveryForget,
		"deliveries/race for claim": testDeliveryRace,
		"mails/rows":                testMails,
		"mails/bounds":              testMailBounds,
		"mails/checkpoint":          testMailCheckpoint,
		"mails/race":                testMailRace,
		"mails/dead":                testMailDead,
		"mails/purge":               testMailPurge,
		"usage/jobs":                testUsage,
		"usage/egress":              testEgress,
		"usage/race for bytes":      testEgressRace,
		"usage/machines":            testMachineTime,
		"usage/days":                testUsageDays,
		"ended contexts":            testEndedContexts,
	} {
		if wanted(name) {
			t.Run(name, func(t *testing.T) { test(t, open(t)) })
		}
	}
	if wanted("files/tree") {
		t.Run("files/tree", func(t *testing.T) { testTree(t, open) })
	}
}

// noon is the moment at which the tests take place; to the microsecond, and no
// more.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 123_456_000, time.UTC)

// person returns an account that is not stored yet.
func person(name string) account.Account {
	a := account.Account{
		Username:      name,
		Email:         name + "@example.com",
		EmailVerified: true,
		PasswordHash:  "hash of " + name,
		Plan:          account.Standard,
		Created:       noon,
	}
	copy(a.KeyHash[:], "key of "+name)
	return a
}

// create stores an account and returns it as it should stand.
func create(t *testing.T, s account.Store, a account.Account) account.Account {
	t.Helper()
	id, err := s.Create(t.Context(), a)
	if err != nil {
		t.Fatalf("create %s: %v", a.Username, err)
	}
	a.ID, a.Epoch = id, 1
	return a
}

// must fails the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError fails the test where err is not the one expected.
func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// same compares two values.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // megabytes take cmp seconds
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// atOnce calls f n times at the same time and returns what each gave.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	group.Wait()
	return errs
}

// winners returns the numbers of those without an error, and fails where
// another has one that lost does not accept.
func winners(t *testing.T, errs []error, lost func(error) bool) (won []int) {
	t.Helper()
	for i, err := range errs {
		switch {
		case err == nil:
			won = append(won, i)
		case !lost(err):
			t.Errorf("number %d: %v", i, err)
		}
	}
	return won
}

func testEndedContexts(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Accounts.Create(ctx, person("bob"))
	wantError(t, "Create", err, context.Canceled)
	_, err = s.Accounts.ByID(ctx, a.ID)
	wantError(t, "ByID", err, context.Canceled)
	wantError(t, "Delete", s.Accounts.Delete(ctx, a.ID), context.Canceled)
	wantError(t, "Record", s.Jobs.Record(ctx, []job.Record{record(a.ID, 1)}), context.Canceled)
	_, _, err = s.Sessions.Load(ctx, sessions.Key{Account: a.ID})
	wantError(t, "Load", err, context.Canceled)

	// Nothing of it was done.
	got, err := s.Accounts.List(t.Context(), "", 10)
	must(t, err)
	same(t, "the accounts", got, []account.Account{a})
	_, err = s.Jobs.ByID(t.Context(), record(a.ID, 1).ID)
	wantError(t, "the job", err, job.ErrNotFound)
}

// numbered returns a text for the case with a number.
func numbered(what string, i int) string { return fmt.Sprintf("%s-%03d", what, i) }
