#include "rung/learn/embedding_sum.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/embedding_sum.h"

namespace rung::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::EmbeddingShape shape_of(const torch::Tensor& tokens, const torch::Tensor& table, std::size_t fields,
                                 const torch::Tensor& position) {
  kernels::EmbeddingShape shape;
  shape.members = table.size(0), shape.sequences = tokens.size(0) * tokens.size(1),
  shape.positions = tokens.size(2), shape.width = table.size(2);
  shape.fields = static_cast<int>(fields);
  shape.wide_tokens = true;
  shape.element = element_of(table);
  shape.position_rows = position.defined() ? position.size(1) : 0;
  return shape;
}

// `all`: the position table or an empty tensor, the tables, the tokens. Tables are views of one buffer with a
// stride between members; the kernel wants them whole.
class FastEmbedding : public torch::autograd::Function<FastEmbedding> {
 public:
  static torch::Tensor forward(AutogradContext* context, torch::TensorList all) {
    const std::size_t count = all.size() / 2;
    const torch::TensorList tables = all.slice(1, count), tokens = all.slice(1 + count, count);
    const torch::Tensor position = is_given(all[0]) ? all[0].contiguous() : torch::Tensor();
    std::vector<torch::Tensor> whole, kept{position};
    kernels::EmbeddingField fields[kernels::kMaxEmbeddingFields];
    for (std::size_t f = 0; f < tokens.size(); ++f) {
      whole.push_back(tables[f].contiguous());
      kept.push_back(tokens[f].contiguous());
      fields[f] = {kept.back().data_ptr(), tables[f].size(1), whole.back().data_ptr(), nullptr};
    }
    const auto shape = shape_of(tokens[0], tables[0], tokens.size(), position);
    torch::Tensor x = torch::empty({tokens[0].size(0), tokens[0].size(1), tokens[0].size(2), shape.width},
                                   tables[0].options());
    const void* place = position.defined() ? position.data_ptr() : nullptr;
    if (x.is_cuda())
      check_device(kernels::embedding_sum_forward_cuda(shape, fields, place, x.data_ptr(), current_stream()),
                   "embedding_sum");
    else
      kernels::embedding_sum_forward(shape, fields, place, x.data_ptr());
    context->save_for_backward(kept);
    std::vector<std::int64_t> sizes;
    for (const torch::Tensor& table : tables) sizes.push_back(table.size(1));
    context->saved_data["sizes"] = sizes;
    return x;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const torch::Tensor dx = gradients[0].contiguous();
    const torch::Tensor& position = saved[0];
    const auto floats = dx.options().dtype(torch::kFloat32);
    const std::int64_t members = dx.size(0), width = dx.size(3);
    kernels::EmbeddingField fields[kernels::kMaxEmbeddingFields];
    std::vector<torch::Tensor> slopes;
    for (std::size_t f = 0; f < sizes.size(); ++f) {
      slopes.push_back(torch::empty({members, sizes[f], width}, floats));
      fields[f] = {saved[f + 1].data_ptr(), sizes[f], nullptr, slopes.back().data_ptr<float>()};
    }
    torch::Tensor dposition;
    if (position.defined()) dposition = torch::empty({members, position.size(1), width}, floats);
    auto shape = shape_of(saved[1], slopes[0], sizes.size(), position);
    shape.element = element_of(dx);
    float* place = position.defined() ? dposition.data_ptr<float>() : nullptr;
    if (dx.is_cuda()) {
      torch::Tensor scratch =
          torch::empty({std::max<std::int64_t>(1, kernels::embedding_sum_scratch(shape, fields))}, floats);
      check_device(kernels::embedding_sum_backward_cuda(shape, fields, dx.data_ptr(), place,
                                                        scratch.data_ptr<float>(), current_stream()),
                   "embedding_sum backward");
    } else {
      kernels::embedding_sum_backward(shape, fields, dx.data_ptr(), place);
    }
    variable_list out{position.defined() ? dposition.to(dx.dtype()) : torch::Tensor()};
    for (torch::Tensor& slope : slopes) out.push_back(slope.to(dx.dtype()));
    out.resize(1 + 2 * sizes.size());  // none for the tokens
    return out;
  }
};

}  // namespace

torch::Tensor embedding_sum(const std::vector<torch::Tensor>& tokens,
                            const std::vector<torch::Tensor>& tables, const torch::Tensor& position) {
  std::vector<torch::Tensor> all{or_empty(position, tables[0])};
  all.insert(all.end(), tables.begin(), tables.end());
  all.insert(all.end(), tokens.begin(), tokens.end());
  return FastEmbedding::apply(torch::TensorList(all));
}

}  // namespace rung::learn
