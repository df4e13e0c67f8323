// The documents say what the transcript holds, and a page can step through a trace with nothing else at hand.
#include "rung/protocol/transcript_json.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/protocol/models.h"

namespace rung {
namespace {

TEST(protocol_documents, totals_are_the_sums_of_their_messages_and_names_are_those_of_the_players) {
  const auto task = make_task("seqcomp", {{"L", 3}, {"m", 2}});
  ASSERT_TRUE(task);
  const auto weights =
      random_model("heads(full:1,linear:1)+sparse(B=3,k=1,form=plain)+mamba2(form=plain)", **task, 3);
  const auto prompt = (*task)->generate(Variant::uniform, 1, 0).prompt;
  const auto transcript = run_protocol(weights, **task, prompt, {});
  ASSERT_TRUE(transcript) << transcript.error().message;
  const auto document = trace_json(*transcript, {"model.safetensors", weights, **task, prompt, {}});
  EXPECT_EQ(document["schema"], "rung.protocol-trace/1");
  EXPECT_EQ(transcript_json(*transcript, {"model.safetensors", weights, **task, prompt, {}})["schema"],
            "rung.protocol/1");

  std::set<std::string> names;
  std::int64_t position = 0;
  for (const auto& player : document["players"]) {
    EXPECT_TRUE(names.insert(player["name"]).second);
    EXPECT_EQ(player["first"], position);
    position = player["last"].get<std::int64_t>() + 1;
    EXPECT_EQ(player["tokens"].size(), position - player["first"].get<std::int64_t>());
  }
  EXPECT_EQ(names, (std::set<std::string>{"3", "2", "1", "0", "-1"}));
  EXPECT_EQ(position, (*task)->prompt_length());
  EXPECT_EQ(document["players"].back()["tokens"].back(), "=");

  std::int64_t charged = 0, asked = 0, read = 0, formula = 0;
  std::map<std::string, std::int64_t> received;
  ASSERT_EQ(document["epochs"].size(), 3u);
  for (const auto& epoch : document["epochs"]) {
    for (const auto& message : epoch["messages"]) {
      const bool is_read = message["kind"] == "tokens", is_charged = message["charged"];
      (is_charged ? charged : is_read ? read : asked) += message["bits"].get<std::int64_t>();
      ASSERT_TRUE(names.contains(message["from"]));
      ASSERT_TRUE(message["to"] == "later" || names.contains(message["to"]));
      if (!is_charged && !is_read) continue;
      bool later = false;
      for (const auto& player : document["players"]) {
        if (message["to"] == player["name"] || (message["to"] == "later" && later))
          received[player["name"]] += message["bits"].get<std::int64_t>();
        later = later || message["from"] == player["name"];
      }
    }
    for (const auto& term : epoch["formula"]) formula += term["bits"].get<std::int64_t>();
    ASSERT_EQ(epoch["knowledge"].size(), names.size());
    for (const auto& entry : epoch["knowledge"]) {
      EXPECT_EQ(entry["received_bits"], received[entry["player"]]);
      EXPECT_FALSE(entry["line"].get<std::string>().empty());
    }
  }
  EXPECT_EQ(document["charged_bits"], charged);
  EXPECT_EQ(document["formula_bits"], formula);
  EXPECT_EQ(document["asked_bits"], asked);
  EXPECT_EQ(document["read_bits"], read);
  EXPECT_GT(asked, 0);
  EXPECT_GT(read, 0);
  EXPECT_EQ(document["knowledge"].size(), names.size());
  EXPECT_EQ(document["equal_rows"], true);
  EXPECT_EQ(document["first_difference"], nullptr);
}

TEST(protocol_documents, a_difference_is_told_with_its_place) {
  const auto task = make_task("eva", {{"n", 6}});
  const auto weights = random_model("linear", **task, 3);
  const auto prompt = (*task)->generate(Variant::uniform, 1, 0).prompt;
  ProtocolOptions options;
  options.tamper = [](const Message&, std::vector<Int128>& numbers) {
    for (auto& number : numbers) number = -number - 1;
    return true;
  };
  const auto transcript = run_protocol(weights, **task, prompt, options);
  ASSERT_TRUE(transcript);
  ASSERT_FALSE(transcript->equal_rows);
  const auto document = transcript_json(*transcript, {"m", weights, **task, prompt, {}});
  EXPECT_EQ(document["first_difference"]["layer"], 0);
  EXPECT_EQ(document["first_difference"]["position"], 6);  // Alice's rows do not depend on messages
  EXPECT_NE(document["first_difference"]["protocol"], document["first_difference"]["machine"]);
}

}  // namespace
}  // namespace rung
